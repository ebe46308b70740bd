package plan

// Standing says what stands behind a document, and by that which secrets a server gives to it.
type Standing int

const (
	Stranger Standing = iota // nothing: somebody handed it in. Those who compile it know documents of their own
	// Proposed says that it is to be deployed, or only tried: it is compiled with its pipeline's secrets, and none of
	// them leaves the process.
	Proposed
	Recorded // it is a version that is deployed, or the document of a run that is recorded
)

// Request is what it takes to compile a document on some machine.
type Request struct {
	File     string            // the document's name, for messages
	Folder   string            // where its relative paths start
	Document []byte            // the document as written
	Params   map[string]string // as given, by name
	Tables   map[string][]byte // the contents of lookup tables by node; those that are not here are read from their files
	Deployed bool              // it is a version of a deployed pipeline: it has no folder, and of the files that it is compiled with only Files are looked at
	Files    map[string][]byte // of a deployed one: the contents of those files, by their paths as the document has them
	Closed   bool              // it is compiled with Tables and Files alone, as a deployed one is, though it may have a folder: somebody wrote it who may not read files here
	Values   map[string]string // of a deployed one: the values of its environment, by name
	ValuesOf string            // which those are, such as prod#12, or the environment if it has none
	Standing Standing          // by which a server gives it secrets
	Beside   string            // a word such as retry-1 that sinks put into the names of their outputs; "" leaves them as they are
}
