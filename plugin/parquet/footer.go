package parquet

import (
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// These are the parts of a footer that matter for reading, and those that the format requires, so that a footer without them is
// rejected. The library's own structures require more: a note of a writer may lack its value.

type fileMeta struct {
	Version             int32                              `thrift:"1,required"`
	Schema              thrift.Slice[format.SchemaElement] `thrift:"2,required"`
	NumRows             int64                              `thrift:"3,required"`
	RowGroups           thrift.Slice[groupMeta]            `thrift:"4,required"`
	Notes               thrift.Slice[note]                 `thrift:"5,optional"`
	EncryptionAlgorithm format.EncryptionAlgorithm         `thrift:"8,optional"`
}

// typedMeta says of which columns the schema has a logical type, known to the library or not.
type typedMeta struct {
	Schema thrift.Slice[struct {
		LogicalType thrift.Null[struct{}] `thrift:"10,optional"`
	}] `thrift:"2,required"`
}

type note struct {
	Key   string `thrift:"1,required"`
	Value string `thrift:"2,optional"`
}

type groupMeta struct {
	Columns       thrift.Slice[chunkMeta]            `thrift:"1,required"`
	TotalByteSize int64                              `thrift:"2,required"`
	NumRows       int64                              `thrift:"3,required"`
	Sorting       thrift.Slice[format.SortingColumn] `thrift:"4,optional"`
}

type chunkMeta struct {
	FilePath                string                      `thrift:"1,optional"`
	FileOffset              int64                       `thrift:"2,required"`
	MetaData                columnMeta                  `thrift:"3,optional"`
	CryptoMetadata          format.ColumnCryptoMetaData `thrift:"8,optional"`
	EncryptedColumnMetadata []byte                      `thrift:"9,optional"`
}

type columnMeta struct {
	Type                  format.Type                            `thrift:"1,required"`
	Encoding              thrift.Slice[format.Encoding]          `thrift:"2,required"`
	PathInSchema          thrift.Slice[string]                   `thrift:"3,required"`
	Codec                 format.CompressionCodec                `thrift:"4,required"`
	NumValues             int64                                  `thrift:"5,required"`
	TotalUncompressedSize int64                                  `thrift:"6,required"`
	TotalCompressedSize   int64                                  `thrift:"7,required"`
	Notes                 thrift.Slice[note]                     `thrift:"8,optional"`
	DataPageOffset        int64                                  `thrift:"9,required"`
	DictionaryPageOffset  int64                                  `thrift:"11,optional"`
	EncodingStats         thrift.Slice[format.PageEncodingStats] `thrift:"13,optional"`
}
