package pipeline

// ParquetSource reads the rows of Parquet files.
type ParquetSource struct {
	Path       string `yaml:"path" text:"path"`                 // a path or a glob, relative to the document's folder; s3://BUCKET/KEY, also with a glob; an http:// or https:// address
	AllowEmpty bool   `yaml:"allow_empty,omitempty"`            // a file of no bytes is zero rows and not an error, and so is a glob without a match
	S3         *S3    `yaml:"s3,omitempty" json:",omitempty"`   // of a path that begins with s3://: how to reach the bucket
	HTTP       *HTTP  `yaml:"http,omitempty" json:",omitempty"` // of a path that begins with http:// or https://: what requests carry
}

// ParquetSink writes a folder of Parquet files and a manifest.
type ParquetSink struct {
	Path        string   `yaml:"path" text:"path"`                                  // the folder, relative to the document's folder; s3://BUCKET/PREFIX
	Overwrite   bool     `yaml:"overwrite,omitempty"`                               // replace what an earlier run put there
	Latest      string   `yaml:"latest,omitempty" text:"path" json:",omitempty"`    // a name that leads to the output of the latest slot: of a folder a symbolic link, in a bucket a JSON object
	Columns     []string `yaml:"columns,omitempty" text:"name"`                     // default: the fields of the incoming rows, if they are all declared
	Compression string   `yaml:"compression,omitempty" words:"zstd snappy none"`    // default zstd
	Decimals    Map[int] `yaml:"decimals,omitempty" range:"0 38" json:",omitempty"` // decimal field → digits after the point: it is a decimal of 38 digits then, and not text
	S3          *S3      `yaml:"s3,omitempty" json:",omitempty"`                    // of a path that begins with s3://: how to reach the bucket
}

// Target says where the sink puts its folder.
func (s ParquetSink) Target() FileTarget {
	return FileTarget{Path: s.Path, Parts: true, Overwrite: s.Overwrite, Latest: s.Latest, S3: s.S3}
}
