package handlers

import (
	"innerloop/coworker"
	"innerloop/internal/discovery"
	"innerloop/journal"
)

// OpenAPIDocument is the document as it is served, for the tests that see the
// door from outside.
func OpenAPIDocument(origin string) ([]byte, error) {
	v, err := openAPIJSON(discovery.Origins{Web: origin, API: origin, Gateway: origin})
	if err != nil {
		return nil, err
	}
	return v.body.raw, nil
}

// OpenAPIRefusals lists what each operation may refuse with, as "id code".
func OpenAPIRefusals() []string {
	var list []string
	for _, d := range describedOperations() {
		for _, code := range d.codes {
			list = append(list, d.id+" "+string(code))
		}
	}
	return list
}

// StatusOf is the HTTP status of a code.
func StatusOf(code journal.Code) int { return statuses[code] }

// ContractAnswer is how REST writes a fault of the coworker.
func ContractAnswer(f *coworker.Fault) (status int, body string) {
	r := judgeFault(f)
	text, err := encoded(contractOf(r, "id"))
	if err != nil {
		panic(err)
	}
	return r.status, string(text)
}
