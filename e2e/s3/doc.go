// Command s3 serves the S3 protocol on this machine for one story: versitygw,
// which checks every signature (AWS Signature Version 4), over two folders.
//
//	s3 OBJECTS METADATA
//
// The key comes from the environment, ROOT_ACCESS_KEY and ROOT_SECRET_KEY. It
// prints "listening on http://127.0.0.1:PORT" and ends with its standard input.
//
// It is a module of its own so that what the server needs stays out of the
// product's go.mod.
package main
