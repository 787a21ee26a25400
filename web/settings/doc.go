// Package settings is the pages with which an organisation's admins manage
// users, keys, connections and sessions and read the audit log.
//
// Its views are plain: strings, numbers and the structs of components, filled
// by the door that serves them. Nothing here knows a rule, a key's secret
// beyond the one page that shows a new one, or HTTP. Every form that changes
// something carries the session's CSRF token and works without script.
package settings
