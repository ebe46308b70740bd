// Package strictzip reads and writes zip files of which there is one form: two files with the same members in the same order differ in no byte,
// and there is no place in one where something could be hidden. Any zip program reads them; only such files are read here.
//
// A name is of [a-z0-9._/-], at most 120 of them, and leads nowhere else. Every member is followed by its descriptor; nothing is before,
// between or behind. Times, versions, flags and attributes are constants; there are no comments, and no extra fields but those of sizes beyond 4 GiB.
package strictzip
