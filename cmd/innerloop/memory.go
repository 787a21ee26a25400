package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"innerloop/coworker"
	"innerloop/coworker/memory"
)

func newMemory(s surroundings) *cobra.Command {
	return group("memory", "Files of a user, which assistants read with read_memory", newMemoryPut(s), newMemoryList(s), newMemoryDelete(s))
}

// remembering declares the flags that name a user, and opens that user's files.
func remembering(c *cobra.Command) func(context.Context, indoors) (*memory.Memory, coworker.Caller, error) {
	org := orgFlag(c)
	user := c.Flags().String("user", "", "`USER_ID` whose files they are; the organization's first user when not given")
	return func(ctx context.Context, in indoors) (*memory.Memory, coworker.Caller, error) {
		id, err := org()
		if err != nil {
			return nil, coworker.Caller{}, err
		}
		whose := coworker.UserID(*user)
		if whose == "" {
			users, err := in.tools.Users(ctx, coworker.Operator(), id, "", 1)
			if err != nil {
				return nil, coworker.Caller{}, err
			}
			for _, u := range users {
				whose = u.ID
			}
		}
		if u, err := in.tools.User(ctx, coworker.Operator(), whose); err != nil || u.Organization != id {
			return nil, coworker.Caller{}, errors.Join(err, coworker.Missing("user"))
		}
		files, err := in.house.memory(in.tools)
		return files, coworker.OperatorFor(id, whose), err
	}
}

func newMemoryPut(s surroundings) *cobra.Command {
	return administration{
		s: s, use: "put", arguments: []string{"PATH", "FILE"}, short: "Write a file of a user; - reads standard input",
		rooms: func(c *cobra.Command) func(context.Context, indoors, []string) (any, []string, error) {
			open := remembering(c)
			return func(ctx context.Context, in indoors, args []string) (any, []string, error) {
				files, who, err := open(ctx, in)
				if err != nil {
					return nil, nil, err
				}
				content, err := contentOf(args[1], c.InOrStdin())
				if err != nil {
					return nil, nil, err
				}
				f, created, err := files.Put(ctx, who, args[0], content, memory.Condition{})
				if err != nil {
					return nil, nil, err
				}
				word := "replaced"
				if created {
					word = "wrote"
				}
				return f.Record(), []string{fmt.Sprintf("%s %s, %d bytes", word, clean(f.Path), f.Size)}, nil
			}
		},
	}.command()
}

// contentOf reads a file, or standard input, of at most one byte more than the
// memory takes.
func contentOf(name string, stdin io.Reader) ([]byte, error) {
	from := stdin
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("read the file: %w", err)
		}
		defer func() { _ = file.Close() }()
		from = file
	}
	content, err := io.ReadAll(io.LimitReader(from, memory.FileMax+1))
	if err != nil {
		return nil, fmt.Errorf("read the file: %w", err)
	}
	return content, nil
}

func newMemoryList(s surroundings) *cobra.Command {
	return administration{
		s: s, use: "list", short: "List the files of a user",
		rooms: func(c *cobra.Command) func(context.Context, indoors, []string) (any, []string, error) {
			open := remembering(c)
			var l memory.Listing
			c.Flags().StringVar(&l.Prefix, "prefix", "", "`TEXT` that paths begin with")
			c.Flags().StringVar(&l.Name, "name", "", "`TEXT` that paths hold, in any case of letters")
			c.Flags().IntVar(&l.Limit, "limit", 0, "`NUMBER` of files on a page, 1 to 500; 100 when not given")
			c.Flags().StringVar(&l.Cursor, "cursor", "", "next_cursor of the page before")
			return func(ctx context.Context, in indoors, _ []string) (any, []string, error) {
				files, who, err := open(ctx, in)
				if err != nil {
					return nil, nil, err
				}
				page, err := files.List(ctx, who, l)
				if err != nil {
					return nil, nil, err
				}
				facts := struct {
					Items []memory.Record `json:"items"`
					Next  *string         `json:"next_cursor"`
				}{Items: []memory.Record{}}
				var lines []string
				for _, f := range page.Files {
					facts.Items = append(facts.Items, f.Record())
					lines = append(lines, fmt.Sprintf("%10d  %s  %s", f.Size, coworker.FormatTime(f.UpdatedAt), clean(f.Path)))
				}
				if page.Next != "" {
					facts.Next = &page.Next
					lines = append(lines, "more: --cursor "+page.Next)
				}
				if len(lines) == 0 {
					lines = []string{"no files"}
				}
				return facts, lines, nil
			}
		},
	}.command()
}

func newMemoryDelete(s surroundings) *cobra.Command {
	return administration{
		s: s, use: "delete", arguments: []string{"PATH"}, short: "Delete a file of a user",
		rooms: func(c *cobra.Command) func(context.Context, indoors, []string) (any, []string, error) {
			open := remembering(c)
			return func(ctx context.Context, in indoors, args []string) (any, []string, error) {
				files, who, err := open(ctx, in)
				if err != nil {
					return nil, nil, err
				}
				if err := files.Delete(ctx, who, args[0], memory.Condition{}); err != nil {
					return nil, nil, err
				}
				return struct {
					Path    string `json:"path"`
					Deleted bool   `json:"deleted"`
				}{args[0], true}, []string{"deleted " + clean(args[0])}, nil
			}
		},
	}.command()
}
