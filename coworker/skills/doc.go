// Package skills keeps an organisation's skills: Agent Skills folders whose
// SKILL.md tells an assistant how a piece of work is done, with scripts and
// references beside it, perhaps bound to a service of the catalog.
//
// It promises that a skill is stored whole or not at all, that its files stay
// within bounds and are what they say they are, and that a skill which is
// disabled or of another organisation is not there.
//
// The package knows neither MCP nor HTTP nor SQL.
package skills
