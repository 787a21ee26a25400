package static

// FontRules lets a test ask for the rules of faces that are not there.
func FontRules(find func(string) (string, bool)) string { return fontRules(find) }
