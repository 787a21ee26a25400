package mcp

import (
	"context"
	"slices"
	"strings"

	"innerloop/coworker"
	"innerloop/coworker/catalog"
	"innerloop/coworker/connect"
	"innerloop/coworker/memory"
	"innerloop/coworker/repl"
	"innerloop/coworker/skills"
	"innerloop/internal/strictjson"
)

// coworkerTools are the tools of a caller with a key, in their order.
func coworkerTools(services *catalog.Catalog, engine *connect.Engine, keeper *connect.Keeper, files *memory.Memory, shelf *skills.Shelf, python *repl.REPL) []tool {
	return []tool{
		listServices(services, keeper),
		describeService(services, shelf),
		connectorExecute(services, engine, keeper),
		replExecute(services, python),
		readMemory(files),
	}
}

// Longest arguments, in code points.
const (
	queryMax   = 100
	serviceMax = 64
)

func listServices(services *catalog.Catalog, keeper *connect.Keeper) tool {
	return tool{
		name: coworker.ToolListServices, title: "List services",
		description: "Begins the work with outside services: a line for each that your key may use, with its id, a short summary and its marks (draft: its facts were not checked yet; connected: a credential is stored). " +
			"Narrow by words, by category, or to those connected. Then " + coworker.ToolDescribeService + " tells how one is called.",
		hints: hints{readOnly: true, idempotent: true},
		input: object(schema{
			"query":     text(1, queryMax, says("Words that id, title, summary or category must hold.")),
			"category":  schema{"type": "string", "enum": services.Categories()},
			"connected": schema{"type": "boolean", "description": "Only services with a credential (true) or without one (false)."},
		}),
		keyed: func(ctx context.Context, k *keyedCall) (any, error) {
			a := readKeyed(k.arguments, nil, "query", "category", "connected")
			q := catalog.Query{Text: a.words("query", queryMax), Category: a.words("category", serviceMax), Connected: a.truth("connected"), Only: k.who.Connectors}
			if q.Category != "" && !slices.Contains(services.Categories(), q.Category) {
				a.refuse(coworker.Problem{Field: "category", Problem: "is none of the categories", Allowed: services.Categories()})
			}
			if err := a.fault(); err != nil {
				return nil, err
			}
			if keeper != nil {
				var err error
				if q.Marks, err = keeper.Marks(ctx, k.who); err != nil {
					return nil, err
				}
			}
			return services.List(q), nil
		},
	}
}

func describeService(services *catalog.Catalog, shelf *skills.Shelf) tool {
	return tool{
		name: coworker.ToolDescribeService, title: "Describe a service",
		description: "Tells all that is needed to call one service: modules with their hosts and paths, sign-in, limits, paging, classes of calls, recipes, and where the facts come from; skills are your organization's own instructions for it, to be read (resources/read) before you begin. version and ttl say how long the answer may be kept.",
		hints:       hints{readOnly: true, idempotent: true},
		input:       object(schema{"service": text(1, serviceMax, says("An id from "+coworker.ToolListServices+"."))}, "service"),
		keyed: func(ctx context.Context, k *keyedCall) (any, error) {
			a := readKeyed(k.arguments, []string{"service"})
			id := a.words("service", serviceMax)
			if err := a.fault(); err != nil {
				return nil, err
			}
			passport, ok := services.Describe(id)
			if !ok {
				return nil, unknownService(services, id)
			}
			k.row.change(func(row *coworker.Audit) { row.Service = id })
			return withSkills(ctx, shelf, k.who, id, passport)
		},
	}
}

// unknownService names what the caller may have meant, then all there is.
func unknownService(services *catalog.Catalog, id string) error {
	hint := "registered: " + strings.Join(services.IDs(), ", ")
	if near := services.Nearest(id, 3); len(near) > 0 {
		hint = "nearest: " + strings.Join(near, ", ") + "; " + hint
	}
	return &coworker.Fault{Code: coworker.UnknownService, Hint: hint}
}

// keyedArguments reads the members of a call and collects every problem.
type keyedArguments struct {
	*arguments
	more []coworker.Problem
}

func readKeyed(object strictjson.Value, required []string, optional ...string) *keyedArguments {
	return &keyedArguments{arguments: readArguments(object, required, optional)}
}

func (a *keyedArguments) refuse(p coworker.Problem) { a.more = append(a.more, p) }

// words returns a string of 1 to longest code points, or "" when it is absent.
func (a *keyedArguments) words(name string, longest int) string {
	field, sent := a.object.Get(name)
	if !sent {
		return ""
	}
	given, ok := field.Text()
	if n := len([]rune(given)); !ok || n == 0 || n > longest {
		a.violate(name, "wrong_type", "must be a string that is neither empty nor too long")
	}
	return given
}

// truth returns a boolean, or nil when it is absent.
func (a *keyedArguments) truth(name string) *bool {
	field, sent := a.object.Get(name)
	if !sent {
		return nil
	}
	given, ok := field.Bool()
	if !ok {
		a.violate(name, "wrong_type", "must be true or false")
	}
	return &given
}

func (a *keyedArguments) fault() error {
	problems := a.more
	for _, v := range a.violations {
		problems = append(problems, coworker.Problem{Field: v.Field, Problem: v.Message})
	}
	if len(problems) == 0 {
		return nil
	}
	return coworker.InvalidArguments(problems...)
}
