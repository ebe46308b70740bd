package codec

// PauseBefore is pauseBefore, for tests.
var PauseBefore = pauseBefore
