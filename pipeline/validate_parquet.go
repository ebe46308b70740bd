package pipeline

// checkParquetSource reports paths that lead nowhere, and options that do not belong to the path.
func (l *loader) checkParquetSource(at string, spec *ParquetSource) {
	if spec.Path == Stdio {
		l.report(Key(at, "path"), "a Parquet file has its index at the end, and standard input has no end to begin with: give the path of a file")
		return
	}
	l.checkFiles(at, Files{Path: spec.Path, S3: spec.S3, HTTP: spec.HTTP})
}

// checkParquetSink reports a folder that cannot be one.
func (l *loader) checkParquetSink(at string, spec *ParquetSink) {
	if spec.Path == Stdio {
		l.report(Key(at, "path"), "a Parquet sink writes a folder of files, which standard output cannot be: give the path of a folder")
		return
	}
	l.checkTarget(at, spec.Target())
}
