package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"innerloop/coworker"
	"innerloop/coworker/connect"
)

// A secret on the command line would stand in the shell's history and in the
// list of processes, so fields come from files and from standard input.
const fieldHelp = "a field as `NAME=@FILE`, or NAME=- for standard input; repeat for each"

func newConnect(s surroundings) *cobra.Command {
	return administration{
		s: s, use: "connect", arguments: []string{"SERVICE"}, short: "Store the credential of a service for an organization",
		long: `Stores a credential in the organization's vault, for all its users or for one.
A connection of the same name is changed. describe_service names the fields of
each service. Values of secret fields are read from a file (NAME=@FILE) or from
standard input (NAME=-), never from the command line; other fields and --param
may be given as NAME=VALUE.`,
		keeps: func(c *cobra.Command) func(context.Context, *connect.Keeper, []string) (any, []string, error) {
			f := c.Flags()
			org := f.String("org", "", "`ID` of the organization")
			user := f.String("user", "", "`ID` of the user whose own it is; every user's when not given")
			name := f.String("name", "main", "`NAME` of the connection, for services with several")
			auth := f.String("auth", "", "`KIND` of credential, for services with several; the first when not given")
			fields := f.StringArray("field", nil, fieldHelp)
			params := f.StringArray("param", nil, "a value of the connection that is no secret, as `NAME=VALUE`; repeat for each")
			base := f.String("base-url", "", "`URL` that stands in place of the service's own host")
			test := f.Bool("test", false, "use the service's own test addresses")
			return func(ctx context.Context, k *connect.Keeper, args []string) (any, []string, error) {
				w := connect.Wish{User: coworker.UserID(*user), Service: args[0], Name: *name, Auth: *auth, BaseURL: *base, Test: *test}
				var err error
				if w.Params, err = pairs("param", *params, func(_, text string) (string, error) { return text, nil }); err != nil {
					return nil, nil, err
				}
				read := reader{stdin: c.InOrStdin()}
				if w.Fields, err = pairs("field", *fields, func(field, text string) (string, error) {
					value, plain, err := read.value(field, text)
					if err == nil && plain && k.Secret(args[0], *auth, field) {
						err = misuse{errors.New("--field " + field + " is a secret: give " + field + "=@FILE, or " + field + "=- for standard input")}
					}
					return value, err
				}); err != nil {
					return nil, nil, err
				}
				if *org == "" {
					return nil, nil, misuse{errors.New("connect needs --org")}
				}
				made, err := k.Connect(ctx, coworker.Operator(), coworker.OrganizationID(*org), w)
				if err != nil {
					return nil, nil, err
				}
				return made.Record(), []string{"connection " + made.ID, made.Service + " is connected as " + made.Name}, nil
			}
		},
	}.command()
}

// pairs reads NAME=VALUE flags.
func pairs(flag string, given []string, value func(name, text string) (string, error)) (map[string]string, error) {
	out := map[string]string{}
	for _, one := range given {
		name, text, ok := strings.Cut(one, "=")
		if !ok || name == "" {
			return nil, misuse{errors.New("--" + flag + " is given as NAME=VALUE")}
		}
		if _, twice := out[name]; twice {
			return nil, misuse{errors.New("--" + flag + " " + name + " is given twice")}
		}
		var err error
		if out[name], err = value(name, text); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// A reader reads values of fields; standard input serves one of them.
type reader struct {
	stdin io.Reader
	taken bool
}

const fieldFileMax = 64 << 10

// value reads the value of a field; plain tells that it stood on the command
// line.
func (r *reader) value(field, text string) (value string, plain bool, err error) {
	var from io.Reader
	switch {
	case text == "-":
		if r.taken {
			return "", false, misuse{errors.New("--field: only one field can be read from standard input")}
		}
		r.taken, from = true, r.stdin
	case strings.HasPrefix(text, "@"):
		file, err := os.Open(text[1:])
		if err != nil {
			return "", false, fmt.Errorf("read the field %s: %w", field, err)
		}
		defer func() { _ = file.Close() }()
		from = file
	default:
		return text, true, nil
	}
	raw, err := io.ReadAll(io.LimitReader(from, fieldFileMax+1))
	if err != nil || len(raw) > fieldFileMax {
		return "", false, fmt.Errorf("read the field %s: it has no more than %d bytes", field, fieldFileMax)
	}
	return strings.TrimRight(string(raw), "\r\n"), false, nil
}

func newConnection(s surroundings) *cobra.Command {
	return group("connection", "Connections of an organization", newConnectionList(s), newConnectionRemove(s))
}

func newConnectionList(s surroundings) *cobra.Command {
	return administration{
		s: s, use: "list", short: "List connections: never a secret, at most its last four characters",
		keeps: func(c *cobra.Command) func(context.Context, *connect.Keeper, []string) (any, []string, error) {
			org := c.Flags().String("org", "", "`ID` of the organization")
			limit := c.Flags().Int("limit", 0, "`NUMBER` of connections on a page, 1 to 500; 100 when not given")
			cursor := c.Flags().String("cursor", "", "next_cursor of the page before")
			return func(ctx context.Context, k *connect.Keeper, _ []string) (any, []string, error) {
				if *org == "" {
					return nil, nil, misuse{errors.New("connection list needs --org")}
				}
				page, err := k.List(ctx, coworker.Operator(), coworker.OrganizationID(*org), *cursor, *limit)
				if err != nil {
					return nil, nil, err
				}
				facts := struct {
					Items []connect.Record `json:"items"`
					Next  *string          `json:"next_cursor"`
				}{Items: []connect.Record{}}
				var lines []string
				for _, one := range page.Connections {
					facts.Items = append(facts.Items, one.Record())
					lines = append(lines, fmt.Sprintf("%s  %-20s %-12s %s", one.ID, one.Service, one.Name, one.State))
				}
				if page.Next != "" {
					facts.Next = &page.Next
					lines = append(lines, "more: --cursor "+page.Next)
				}
				if len(lines) == 0 {
					lines = []string{"no connections"}
				}
				return facts, lines, nil
			}
		},
	}.command()
}

func newConnectionRemove(s surroundings) *cobra.Command {
	return administration{
		s: s, use: "remove", arguments: []string{"CONNECTION_ID"}, short: "Remove a connection; its credential is gone",
		keeps: func(c *cobra.Command) func(context.Context, *connect.Keeper, []string) (any, []string, error) {
			org := c.Flags().String("org", "", "`ID` of the organization")
			return func(ctx context.Context, k *connect.Keeper, args []string) (any, []string, error) {
				if *org == "" {
					return nil, nil, misuse{errors.New("connection remove needs --org")}
				}
				if err := k.Remove(ctx, coworker.Operator(), coworker.OrganizationID(*org), args[0]); err != nil {
					return nil, nil, err
				}
				facts := struct {
					ID string `json:"connection_id"`
				}{args[0]}
				return facts, []string{"removed " + args[0]}, nil
			}
		},
	}.command()
}

func newOrgAllowNetwork(s surroundings) *cobra.Command {
	return administration{
		s: s, use: "allow-network", arguments: []string{"CIDR"}, short: "Admit a network for connections that have an address of their own",
		long: `Admits a network, for example 10.0.0.0/8, so that connections made with
--base-url can reach a service in it, over http and on any port too. Nothing
else is opened by it, and addresses of cloud metadata never are.`,
		keeps: func(c *cobra.Command) func(context.Context, *connect.Keeper, []string) (any, []string, error) {
			org := c.Flags().String("org", "", "`ID` of the organization")
			return func(ctx context.Context, k *connect.Keeper, args []string) (any, []string, error) {
				if *org == "" {
					return nil, nil, misuse{errors.New("org allow-network needs --org")}
				}
				n, err := k.AllowNetwork(ctx, coworker.Operator(), coworker.OrganizationID(*org), args[0])
				if err != nil {
					return nil, nil, err
				}
				facts := struct {
					Organization string `json:"organization_id"`
					Network      string `json:"network"`
				}{*org, n.String()}
				return facts, []string{"admitted " + n.String()}, nil
			}
		},
	}.command()
}
