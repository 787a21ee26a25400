// Package published holds requests and answers against the OpenAPI documents
// that services publish.
//
// Such a document may be tens of megabytes and partly not valid. Read keeps it
// as plain JSON; of each operation that is asked about, only its own part and
// what that refers to is compiled. It knows no room of ours.
package published
