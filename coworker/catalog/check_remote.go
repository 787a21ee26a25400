package catalog

import (
	"fmt"
	"slices"
	"strings"
)

// checkRemotePaths refuses a path that reaches a remote method: it would be
// another way to it, past the list of methods and the class of its name. OData
// is addressed both ways on purpose, and classed by HTTP method.
func (c *checker) checkRemotePaths() {
	for i, id := range c.RPC.Modules {
		if _, ok := c.Module(id); !ok {
			c.add(fmt.Sprintf("rpc.modules.%d", i), "%s is no module of this file", id)
		}
	}
	if c.Style == OData {
		return
	}
	remote := remotePaths(c.RPC)
	for i := range c.Modules {
		module := &c.Modules[i]
		if !c.RPC.serves(module.ID) {
			continue
		}
		for j, entry := range module.Paths {
			_, glob := globOf(entry)
			if slices.ContainsFunc(remote, func(path string) bool { return meet(glob, path) }) {
				c.add(fmt.Sprintf("modules.%d.paths.%d", i, j), "reaches remote methods, which are called by name alone")
			}
		}
	}
}

// remotePaths are the paths that remote methods are sent to, as texts in which
// * is anything, slashes too.
func remotePaths(rpc *RPC) []string {
	names := rpc.Methods
	if len(names) == 0 {
		names = []string{"*"}
	}
	forms := []string{rpc.Call.Path}
	for _, action := range rpc.Actions {
		if action.Path != "" {
			forms = append(forms, action.Path)
		}
	}
	var paths []string
	for _, form := range forms {
		for _, name := range names {
			services := []string{name} // a * may hold the last dot
			if dot := strings.LastIndex(name, "."); dot >= 0 {
				services = append(services, name[:dot])
			}
			for _, service := range services {
				path := strings.NewReplacer("{method}", name, "{service}", service).Replace(form)
				paths = append(paths, placeholder.ReplaceAllString(path, "*"))
			}
		}
	}
	return paths
}

// meet tells whether some text fits both a path glob and a text pattern. Where
// ** stands in the glob it is read as any text, so it errs towards yes.
func meet(glob, pattern string) bool {
	const deep = '\x00' // any text with slashes; no glob holds it
	a := []rune(strings.NewReplacer("/**", string(deep), "**", string(deep)).Replace(glob))
	b := []rune(strings.ReplaceAll(pattern, "*", string(deep)))
	star := func(r rune) bool { return r == '*' || r == deep }
	// row[j] tells whether a from i and b from j have a text in common.
	next := make([]bool, len(b)+1)
	for i := len(a); i >= 0; i-- {
		row := make([]bool, len(b)+1)
		for j := len(b); j >= 0; j-- {
			switch {
			case i == len(a) && j == len(b):
				row[j] = true
			case i < len(a) && star(a[i]):
				row[j] = next[j] || j < len(b) && row[j+1] && (a[i] == deep || b[j] != '/')
			}
			if !row[j] && j < len(b) && star(b[j]) {
				row[j] = row[j+1] || i < len(a) && next[j]
			}
			if !row[j] && i < len(a) && j < len(b) && a[i] == b[j] {
				row[j] = next[j+1]
			}
		}
		next = row
	}
	return next[0]
}
