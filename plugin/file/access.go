package file

import (
	"path"
	"strings"
	"unicode"

	"waymark/pipeline"
)

// Access is where the files of one document are, and how they are reached. It is safe for concurrent use.
type Access struct {
	Root *Root
	// Beside is a word such as retry-1 that goes into the names of all outputs, before the extension: out/a.csv becomes
	// out/a.retry-1.csv. "" leaves them as they are.
	Beside string
	// Remote is where paths with a scheme lead; nil rejects them.
	Remote Remote
	// Stdio is where the path - leads.
	Stdio Stdio
	// Known says that what the paths lead to is known, and is not looked at: they may lead anywhere.
	Known bool
}

// Remote makes what is not on this host: the places that paths with a scheme name, such as s3://bucket/key. It is safe for
// concurrent use. Its errors name the option at fault and what to write instead; nothing is looked at.
type Remote interface {
	// Store returns where the files of a source are.
	Store(files pipeline.Files) (Store, error)
	// Destination returns where the output of the sink with this name goes. extension is that of the parts, such as .csv.
	Destination(sink, extension string, target pipeline.FileTarget) (Destination, error)
}

// besidePath puts the word before the extension, and after a name that has none. What follows the last dot is an extension
// if it begins with a letter. Standard output has no name.
func besidePath(name, word string) string {
	if name == pipeline.Stdio {
		return name
	}
	extension := path.Ext(name)
	stem := strings.TrimSuffix(name, extension)
	if len(extension) < 2 || !unicode.IsLetter(rune(extension[1])) || stem == "" || strings.HasSuffix(stem, "/") {
		return strings.TrimRight(name, "/") + "." + word
	}
	return stem + "." + word + extension
}
