// Package catalog holds what is known of each outside service an organisation
// can connect: one strict YAML file a service, embedded, and more files in
// folders of the operator that replace them by id.
//
// It promises that a loaded service obeys every rule of service.schema.json
// and of this package: each recipe passes its own module's allow-list and has
// a class, each template names values that exist, hosts are hosts, the list
// of all services stays under ListLimit bytes and a passport under
// PassportLimit. A mistake names the file, the field and the rule.
//
// It says `checked` only of facts that someone held against the sources a
// file names; the rest is `draft`, and is shown so.
//
// It knows no credential, opens no connection and calls nobody: what a file
// says is carried out by the room connect.
package catalog
