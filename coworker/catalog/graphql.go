package catalog

import "strings"

// graphqlOperation tells what the GraphQL document of a body does: mutation
// when any of its operations is one, query when all are queries, else
// nothing; with the names found at the root of its selections, aliases among
// them, so that a field cannot hide behind one.
func graphqlOperation(body any) (kind string, fields []string) {
	values, ok := body.(map[string]any)
	if !ok {
		return "", nil
	}
	document, ok := values["query"].(string)
	if !ok {
		return "", nil
	}
	words, ok := graphqlWords(document)
	if !ok {
		return "", nil
	}
	kind = "query"
	for _, word := range words {
		switch {
		case word.depth == 1:
			fields = append(fields, word.text)
		case word.text == "mutation" && kind == "query":
			kind = "mutation"
		case word.text == "subscription":
			kind = ""
		}
	}
	return kind, fields
}

// A graphqlWord is a name of a document and how many braces it stands in.
type graphqlWord struct {
	text  string
	depth int
}

// graphqlWords scans a document: names outside of strings, comments and
// arguments. It reports false when brackets or quotes do not pair.
func graphqlWords(document string) ([]graphqlWord, bool) {
	var words []graphqlWord
	depth, inner := 0, 0
	for i := 0; i < len(document); {
		rest := document[i:]
		switch c := rest[0]; {
		case c == '#':
			i += lineEnd(rest)
		case c == '"':
			length := quoted(rest)
			if length < 0 {
				return nil, false
			}
			i += length
		case c == '(' || c == '[' || c == '{' && inner > 0:
			inner++
			i++
		case c == ')' || c == ']' || c == '}' && inner > 0:
			inner--
			i++
		case c == '{':
			depth++
			i++
		case c == '}':
			depth--
			i++
		case isWord(c):
			length := len(rest) - len(strings.TrimLeftFunc(rest, func(r rune) bool { return r < 0x80 && isWord(byte(r)) }))
			if inner == 0 {
				words = append(words, graphqlWord{rest[:length], depth})
			}
			i += length
		default:
			i++
		}
		if depth < 0 || inner < 0 {
			return nil, false
		}
	}
	return words, depth == 0 && inner == 0
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func lineEnd(text string) int {
	if at := strings.IndexAny(text, "\r\n"); at >= 0 {
		return at
	}
	return len(text)
}

// quoted is the length of the string at the beginning of text, or -1.
func quoted(text string) int {
	if strings.HasPrefix(text, `"""`) {
		for at := 3; at < len(text); at++ {
			if strings.HasPrefix(text[at:], `\"""`) {
				at += 3
			} else if strings.HasPrefix(text[at:], `"""`) {
				return at + 3
			}
		}
		return -1
	}
	for at := 1; at < len(text); at++ {
		switch text[at] {
		case '\\':
			at++
		case '"':
			return at + 1
		case '\n', '\r':
			return -1
		}
	}
	return -1
}
