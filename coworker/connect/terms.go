package connect

import (
	"context"
	"slices"

	"innerloop/coworker"
	"innerloop/coworker/catalog"
)

// single holds a change to one request: each further page would make it again.
func (x *execution) single() error {
	var problems []coworker.Problem
	if x.class == catalog.Read {
		return nil
	}
	if x.call.MaxPages > 1 {
		problems = append(problems, coworker.Problem{Field: "max_pages", Problem: "must be 1 for a call that changes something: each page would make the change again", Allowed: 1})
	}
	if x.call.Page != "" {
		problems = append(problems, coworker.Problem{Field: "page", Problem: "does not go with a call that changes something: it would make the change again"})
	}
	if len(problems) > 0 {
		return coworker.InvalidArguments(problems...)
	}
	return nil
}

// confirmed holds calls that cannot be undone until somebody said so.
func (x *execution) confirmed(ctx context.Context, service *catalog.Service) error {
	if x.class != catalog.Irreversible || x.call.DryRun {
		return nil
	}
	wanted := x.call.NoConfirm
	if !wanted && !x.call.Confirm && x.call.MustConfirm != nil {
		var err error
		if wanted, err = x.call.MustConfirm(ctx); err != nil {
			return err
		}
	}
	if wanted {
		hint := "show this call to the person you work for; once they agree, repeat it with confirm: true"
		if x.call.NoConfirm {
			hint = "code cannot confirm for a person; make this call with connector_execute"
		}
		return &coworker.Fault{Code: coworker.ConfirmationRequired, Hint: hint, Details: struct {
			Service string `json:"service"`
			Module  string `json:"module"`
			Method  string `json:"method"`
			Path    string `json:"path,omitempty"`
		}{service.ID, x.target.Module, x.target.Method, x.target.Path}}
	}
	return nil
}

// idempotent puts the caller's key where the service looks for it.
func (x *execution) idempotent(service *catalog.Service, d *draft) error {
	rule := service.Idempotency
	if x.call.IdempotencyKey == "" {
		return nil
	}
	if rule == nil || len(rule.Methods) > 0 && !slices.Contains(rule.Methods, d.method) {
		return coworker.InvalidArguments(coworker.Problem{Field: "idempotency_key", Problem: "is not known to this service for this method; leave it out and do not repeat the call blindly"})
	}
	if rule.Max > 0 && len(x.call.IdempotencyKey) > rule.Max {
		return coworker.InvalidArguments(coworker.Problem{Field: "idempotency_key", Problem: "is longer than the service takes", Allowed: rule.Max})
	}
	switch {
	case rule.Header != "":
		d.header.Set(rule.Header, x.call.IdempotencyKey)
	case rule.Query != "":
		d.query.Set(rule.Query, x.call.IdempotencyKey)
	case rule.Body != "":
		d.inBody(rule.Body, x.call.IdempotencyKey)
	}
	return nil
}
