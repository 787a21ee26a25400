package simulator

import (
	"fmt"
	"strings"
)

// GitHub: pages by the Link header, a version in a header, secondary limits as
// 403, the failing field in a list.
func GitHub() Service {
	const host, token = "api.github.com/", "github-token-simulated"
	repos := paging{
		Rows: rows(5, gitHubRepository),
		Name: "page", Size: "per_page", Max: 100, Start: 1, Whole: true,
	}
	tasks, labels := repos, repos
	labels.Rows = rows(5, func(n int) map[string]any {
		label := gitHubLabel(n, fmt.Sprintf("bug-%d", n), "ff0000")
		label["score"] = 1
		return label
	})
	tasks.Rows = rows(5, gitHubIssue)
	linked := func(page []any, next string, _ int) Reply {
		if next == "" {
			return says(200, page)
		}
		return says(200, page, "Link", `<`+next+`>; rel="next", <`+next+`&last>; rel="last"`)
	}
	// Pages of a repository's lists go on under its number.
	issues := func(r *Request) Reply {
		moved := *r.URL
		moved.Path = "/" + host + "repositories/1300192/issues"
		numbered := *r.Request
		numbered.URL = &moved
		in := *r
		in.Request = &numbered
		return tasks.byAddress(linked)(&in)
	}
	return Service{
		ID:      "github",
		Good:    Credential{Fields: map[string]string{"token": token}},
		Stale:   Credential{Fields: map[string]string{"token": "github-token-of-last-year"}},
		Auth:    bearer(token),
		Headers: map[string]string{"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28", "User-Agent": ""},
		Refusal: refusals(func(status int, code, message string) any {
			return gitHubRefusal(status, code, message).Body
		}, map[Trouble]refusal{
			NoCredential: {401, "", "Bad credentials", nil},
			NoPath:       {404, "", "Not Found", nil},
			NoMethod:     {404, "", "Not Found", nil},
			NoType:       {415, "", "Unsupported Media Type", nil},
			NoHeader:     {403, "", "Request forbidden by administrative rules.", nil},
			BadValue:     {422, "missing_field", "Validation Failed", nil},
			Missing:      {404, "", "Not Found", nil},
			TooMany:      {403, "", "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.", []string{"Retry-After", "1"}},
		}),
		Routes: []Route{
			{Call: "GET " + host + "user", Answer: fixed(200, gitHubSelf())},
			{Call: "GET " + host + "user/repos", Answer: repos.byAddress(linked)},
			{Call: "GET " + host + "repos/*/*/issues", Answer: issues},
			{Call: "GET " + host + "repositories/*/issues", Answer: issues},
			{Call: "GET " + host + "search/issues", Busy: 1, Answer: fixed(200, map[string]any{"total_count": 0, "incomplete_results": false, "search_type": "lexical", "items": []any{}})},
			{Call: "GET " + host + "search/labels", Answer: labels.byAddress(func(page []any, next string, total int) Reply {
				found := linked(page, next, total)
				found.Body = map[string]any{"total_count": total, "incomplete_results": false, "items": page}
				return found
			})},
			{Call: "GET " + host + "search/code", Answer: fixed(403, map[string]any{"message": "API rate limit exceeded for user ID 1.", "documentation_url": "https://docs.github.com/rest"}, "Retry-After", "60", "X-RateLimit-Remaining", "0")},
			{Call: "POST " + host + "repos/*/*/labels", Type: jsonType, Answer: func(r *Request) Reply {
				name := r.text("name")
				if name == "" {
					return r.Refuse(BadValue)
				}
				if name == "bug" { // every repository has it
					return gitHubRefusal(422, "already_exists", "Validation Failed")
				}
				return says(201, gitHubLabel(1, name, r.text("color")), "Location", gitHubAt(1)+"/labels/"+name)
			}},
			{Call: "POST " + host + "repos/*/*/issues", Type: jsonType, Answer: func(r *Request) Reply {
				title := r.text("title")
				if title == "" {
					return r.Refuse(BadValue)
				}
				made := gitHubIssue(8)
				made["title"] = title
				return says(201, made, "Location", gitHubAt(1)+"/issues/8")
			}},
			{Call: "PUT " + host + "repos/*/*/pulls/*/merge", Type: jsonType, Answer: fixed(200, map[string]any{
				"sha": strings.Repeat("6d", 20), "merged": true, "message": "Pull Request successfully merged",
			})},
		},
	}
}

// gitHubRefusal is GitHub's form of a refusal; a code tells what is wrong with
// a field.
func gitHubRefusal(status int, code, message string) Reply {
	answer := map[string]any{"message": message, "documentation_url": "https://docs.github.com/rest"}
	if code != "" {
		answer["errors"] = []any{map[string]any{"resource": "Label", "field": "name", "code": code}}
	}
	return says(status, answer)
}

// What follows has every name that GitHub's published document wants of an
// answer; the stories hold it against that.

const gitHubTime = "2026-11-30T09:00:00Z"

func gitHubAt(n int) string { return fmt.Sprintf("https://api.github.com/repos/acme/shop-%d", n) }

// gitHubOwner is a person or an organisation as it is named within others.
func gitHubOwner(login, kind string) map[string]any {
	at := "https://api.github.com/users/" + login
	owner := map[string]any{
		"login": login, "id": 1, "node_id": "dropped", "gravatar_id": "", "type": kind, "site_admin": false,
		"avatar_url": "https://github.com/images/" + login + ".png", "html_url": "https://github.com/" + login, "url": at,
		"following_url": at + "/following{/other_user}", "gists_url": at + "/gists{/gist_id}",
		"starred_url": at + "/starred{/owner}{/repo}", "organizations_url": at + "/orgs", "events_url": at + "/events{/privacy}",
	}
	for _, name := range []string{"followers", "subscriptions", "repos", "received_events"} {
		owner[name+"_url"] = at + "/" + name
	}
	return owner
}

// gitHubSelf is the person whose token it is.
func gitHubSelf() map[string]any {
	self := gitHubOwner("robot", "User")
	for _, name := range []string{"name", "company", "blog", "location", "email", "hireable", "bio"} {
		self[name] = nil
	}
	self["blog"] = ""
	for _, name := range []string{
		"public_repos", "public_gists", "followers", "following", "private_gists", "total_private_repos",
		"owned_private_repos", "disk_usage", "collaborators",
	} {
		self[name] = 0
	}
	self["created_at"], self["updated_at"], self["two_factor_authentication"], self["user_view_type"] = gitHubTime, gitHubTime, true, "private"
	return self
}

func gitHubRepository(n int) map[string]any {
	at, name := gitHubAt(n), fmt.Sprintf("shop-%d", n)
	web := "https://github.com/acme/" + name
	repository := map[string]any{
		"id": n, "node_id": "dropped", "name": name, "full_name": "acme/" + name, "owner": gitHubOwner("acme", "Organization"),
		"private": true, "fork": false, "description": nil, "homepage": nil, "language": nil, "license": nil, "mirror_url": nil,
		"default_branch": "main", "archived": false, "disabled": false, "visibility": "private",
		"url": at, "html_url": web, "clone_url": web + ".git", "svn_url": web,
		"git_url": "git://github.com/acme/" + name + ".git", "ssh_url": "git@github.com:acme/" + name + ".git",
		"pushed_at": gitHubTime, "created_at": gitHubTime, "updated_at": gitHubTime,
	}
	for name, place := range map[string]string{
		"archive": "/{archive_format}{/ref}", "assignees": "/assignees{/user}", "blobs": "/git/blobs{/sha}", "branches": "/branches{/branch}",
		"collaborators": "/collaborators{/collaborator}", "comments": "/comments{/number}", "commits": "/commits{/sha}",
		"compare": "/compare/{base}...{head}", "contents": "/contents/{+path}", "git_commits": "/git/commits{/sha}",
		"git_refs": "/git/refs{/sha}", "git_tags": "/git/tags{/sha}", "issue_comment": "/issues/comments{/number}",
		"issue_events": "/issues/events{/number}", "issues": "/issues{/number}", "keys": "/keys{/key_id}", "labels": "/labels{/name}",
		"milestones": "/milestones{/number}", "notifications": "/notifications{?since,all,participating}", "pulls": "/pulls{/number}",
		"releases": "/releases{/id}", "statuses": "/statuses/{sha}", "trees": "/git/trees{/sha}",
	} {
		repository[name+"_url"] = at + place
	}
	for _, name := range []string{
		"contributors", "deployments", "downloads", "events", "forks", "hooks", "languages", "merges", "stargazers",
		"subscribers", "subscription", "tags", "teams",
	} {
		repository[name+"_url"] = at + "/" + name
	}
	for _, name := range []string{"forks", "forks_count", "open_issues", "open_issues_count", "size", "stargazers_count", "watchers", "watchers_count"} {
		repository[name] = 0
	}
	for _, name := range []string{"downloads", "issues", "projects", "wiki", "pages"} {
		repository["has_"+name] = true
	}
	return repository
}

func gitHubLabel(n int, name, color string) map[string]any {
	return map[string]any{
		"id": n, "node_id": "dropped", "url": gitHubAt(1) + "/labels/" + name, "name": name, "color": color, "default": false, "description": nil,
	}
}

func gitHubIssue(n int) map[string]any {
	at := fmt.Sprintf("%s/issues/%d", gitHubAt(1), n)
	return map[string]any{
		"id": n, "node_id": "dropped", "number": n, "title": "Broken link", "body": nil, "state": "open", "locked": false, "comments": 0,
		"user": gitHubOwner("robot", "User"), "assignee": nil, "assignees": []any{}, "milestone": nil, "author_association": "MEMBER",
		"labels": []any{gitHubLabel(1, "bug", "ff0000")}, "url": at, "html_url": fmt.Sprintf("https://github.com/acme/shop-1/issues/%d", n),
		"repository_url": gitHubAt(1), "labels_url": at + "/labels{/name}", "comments_url": at + "/comments", "events_url": at + "/events",
		"closed_at": nil, "created_at": gitHubTime, "updated_at": gitHubTime,
	}
}
