package catalog

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

var (
	placeholder = regexp.MustCompile(`\{([a-zA-Z_][a-zA-Z0-9_]*)\}`)
	rpcName     = regexp.MustCompile(`^[\p{L}\p{N}_.:/-]+$`)
)

// rpcNameMax is the length of a remote method's name, in characters; a count in
// the pattern would make its program, and every start, a hundred times larger.
const rpcNameMax = 200

var httpMethods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}

// Module finds a module by its id.
func (s *Service) Module(id string) (*Module, bool) {
	for i := range s.Modules {
		if s.Modules[i].ID == id {
			return &s.Modules[i], true
		}
	}
	return nil, false
}

// Remote tells whether a call names a remote method instead of a path.
func (s *Service) Remote(call Call) bool { return s.RPC != nil && call.Path == "" }

// Admits tells whether the service's own lists admit a call: the module is
// there, the path or remote method is in its allow-list, the HTTP method too.
// The error names the field and what is allowed.
func (s *Service) Admits(call Call) error {
	module, ok := s.Module(call.Module)
	if !ok {
		ids := make([]string, len(s.Modules))
		for i := range s.Modules {
			ids[i] = s.Modules[i].ID
		}
		return fmt.Errorf("module: not one of %s", strings.Join(ids, ", "))
	}
	if s.Remote(call) {
		if !s.RPC.serves(module.ID) {
			return fmt.Errorf("module: remote methods are called in %s; this one has paths", strings.Join(s.RPC.Modules, ", "))
		}
		return s.admitsRemote(call.Method)
	}
	methods := module.Methods
	if len(methods) == 0 {
		methods = httpMethods
	}
	if !slices.Contains(methods, call.Method) {
		return fmt.Errorf("method: not one of %s", strings.Join(methods, ", "))
	}
	if err := CheckPath(call.Path); err != nil {
		return fmt.Errorf("path: %w", err)
	}
	if len(module.Paths) == 0 {
		if s.RPC != nil && s.Style != OData && s.RPC.serves(module.ID) {
			return fmt.Errorf("path: must be empty; module %s is called by the names of remote methods", module.ID)
		}
		return nil
	}
	decoded, err := url.PathUnescape(call.Path)
	if err != nil || !slices.ContainsFunc(module.Paths, func(glob string) bool {
		method, path := globOf(glob)
		return (method == "" || method == call.Method) && matchPath(path, decoded)
	}) {
		return fmt.Errorf("path: not admitted by module %s: %s", module.ID, strings.Join(module.Paths, ", "))
	}
	return nil
}

// serves tells whether remote methods are called in a module.
func (r *RPC) serves(module string) bool {
	return len(r.Modules) == 0 || slices.Contains(r.Modules, module)
}

func (s *Service) admitsRemote(method string) error {
	if utf8.RuneCountInString(method) > rpcNameMax || !rpcName.MatchString(method) || strings.Contains(method, "..") || strings.Contains("/"+method+"/", "/./") || strings.Contains(method, "//") || strings.HasPrefix(method, "/") {
		return fmt.Errorf("method: a remote method's name has letters, digits, dots and no empty part")
	}
	allowed := s.RPC.Methods
	if len(allowed) > 0 && !slices.ContainsFunc(allowed, func(glob string) bool { return matchText(glob, method) }) {
		return fmt.Errorf("method: not one of %s", strings.Join(allowed, ", "))
	}
	return nil
}

// Classify gives the class of a call that Admits admits. A GraphQL document
// that holds anything besides one query is never a read.
func (s *Service) Classify(call Call) Class {
	for _, operation := range s.Operations {
		if operation.Default != "" {
			return operation.Default
		}
		if len(operation.Modules) > 0 && !slices.Contains(operation.Modules, call.Module) {
			continue
		}
		if s.fits(operation.Match, call) {
			return operation.Class
		}
	}
	return Irreversible
}

// Paging finds the rule by which a call's pages follow each other.
func (s *Service) Paging(call Call) (Pagination, bool) {
	module, ok := s.Module(call.Module)
	if !ok {
		return Pagination{}, false
	}
	for _, rule := range module.Pagination {
		if rule.Match == "" || s.fits(rule.Match, call) {
			return rule, rule.Kind != NoPages
		}
	}
	return Pagination{}, false
}

// Paces are the rates that a call counts under: its module's, and the first
// of the module's single ones that fits.
func (s *Service) Paces(call Call) []Rate {
	module, ok := s.Module(call.Module)
	if !ok {
		return nil
	}
	var rates []Rate
	if module.Rate != nil {
		rates = append(rates, *module.Rate)
	}
	for _, rate := range module.Rates {
		if s.fits(rate.Match, call) {
			return append(rates, rate)
		}
	}
	return rates
}

// Fits tells whether an error rule's Match, or any other match of this
// service's file, fits a call.
func (s *Service) Fits(match string, call Call) bool { return match == "" || s.fits(match, call) }

func (s *Service) fits(match string, call Call) bool {
	left, right, two := strings.Cut(match, " ")
	if !two {
		return s.Remote(call) && matchText(match, call.Method)
	}
	if left == "query" || left == "mutation" {
		if s.Style != GraphQL {
			return false
		}
		kind, fields := graphqlOperation(call.Body)
		return kind == left && slices.ContainsFunc(fields, func(field string) bool { return matchText(right, field) })
	}
	if s.Remote(call) {
		return false
	}
	decoded, err := url.PathUnescape(call.Path)
	return err == nil && (left == "*" || left == call.Method) && matchPath(right, decoded)
}
