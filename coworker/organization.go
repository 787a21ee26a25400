package coworker

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// An Organization is whom keys and users belong to.
type Organization struct {
	ID        OrganizationID
	Name      string
	CreatedAt time.Time
}

// A User is a person or a machine of an organisation.
type User struct {
	Organization OrganizationID
	ID           UserID
	Name         string
	CreatedAt    time.Time
}

// A Founding is a new organisation with the key of its first user, whose
// secret is shown this once.
type Founding struct {
	Organization Organization
	User         User
	Key          Key
	Secret       Secret
}

// CreateOrganization makes an organisation with a first user and an admin key
// of days (0 means DaysDefault). Only the operator may.
func (c *Coworker) CreateOrganization(ctx context.Context, who Caller, name string, days int) (Founding, error) {
	if !who.operator {
		return Founding{}, denied(who.Scopes, Admin)
	}
	now := c.clock()
	wish := NewKey{Name: "first admin key", Scopes: Admin, Days: days}
	problems := append(checkName(name), wish.check()...)
	if len(problems) > 0 {
		return Founding{}, InvalidArguments(problems...)
	}
	org, err := newID(now, c.random)
	if err != nil {
		return Founding{}, err
	}
	user, err := newID(now, c.random)
	if err != nil {
		return Founding{}, err
	}
	f := Founding{
		Organization: Organization{OrganizationID("org_" + org), name, now},
		User:         User{OrganizationID("org_" + org), UserID("user_" + user), "admin", now},
	}
	f.Key, f.Secret, err = c.issue(who, f.User, wish, now, func(k StoredKey) error {
		a, err := c.act(who, f.Organization.ID, "organization.create", string(f.Organization.ID))
		if err != nil {
			return err
		}
		return c.store.CreateOrganization(ctx, f.Organization, f.User, k, a)
	})
	if err != nil {
		return Founding{}, fmt.Errorf("create organization: %w", err)
	}
	return f, nil
}

// Organization returns one, to its admins.
func (c *Coworker) Organization(ctx context.Context, who Caller, id OrganizationID) (Organization, error) {
	if err := who.administers(id); err != nil {
		return Organization{}, err
	}
	o, err := c.store.Organization(ctx, id)
	return o, found(err, "organization")
}

// Organizations lists all, a page after the id after; only the operator may.
func (c *Coworker) Organizations(ctx context.Context, who Caller, after OrganizationID, limit int) ([]Organization, error) {
	if !who.operator {
		return nil, denied(who.Scopes, Admin)
	}
	size, err := pageSize(limit)
	if err != nil {
		return nil, err
	}
	return c.store.Organizations(ctx, after, size)
}

// auditStep is how many audit rows one transaction removes.
const auditStep = 500

// DeleteOrganization removes an organisation with users, keys, sessions and
// audit. It can be repeated after it was cut off.
func (c *Coworker) DeleteOrganization(ctx context.Context, who Caller, id OrganizationID) error {
	if err := who.administers(id); err != nil {
		return err
	}
	if _, err := c.store.Organization(ctx, id); err != nil {
		return found(err, "organization")
	}
	if err := inSteps(auditStep, func(limit int) (int, error) { return c.store.ForgetAuditOf(ctx, id, limit) }); err != nil {
		return fmt.Errorf("delete organization: %w", err)
	}
	if err := c.store.DeleteOrganization(ctx, id); err != nil {
		return found(err, "organization")
	}
	c.logger.InfoContext(ctx, "organization deleted", "organization", string(id))
	return nil
}

// AddUser adds a user.
func (c *Coworker) AddUser(ctx context.Context, who Caller, o OrganizationID, name string) (User, error) {
	if err := who.administers(o); err != nil {
		return User{}, err
	}
	if problems := checkName(name); len(problems) > 0 {
		return User{}, InvalidArguments(problems...)
	}
	now := c.clock()
	id, err := newID(now, c.random)
	if err != nil {
		return User{}, err
	}
	u := User{Organization: o, ID: UserID("user_" + id), Name: name, CreatedAt: now}
	a, err := c.act(who, o, "user.add", string(u.ID))
	if err != nil {
		return User{}, err
	}
	if err := c.store.AddUser(ctx, u, a); err != nil {
		return User{}, found(err, "organization")
	}
	return u, nil
}

// User returns a user of any organisation to the operator, and of their own to
// admins.
func (c *Coworker) User(ctx context.Context, who Caller, id UserID) (User, error) {
	if !who.operator && !who.Scopes.Holds(Admin) {
		return User{}, denied(who.Scopes, Admin)
	}
	u, err := c.store.User(ctx, id)
	if err != nil {
		return User{}, found(err, "user")
	}
	if who.administers(u.Organization) != nil {
		return User{}, Missing("user")
	}
	return u, nil
}

// Users lists the users of an organisation after the id after.
func (c *Coworker) Users(ctx context.Context, who Caller, o OrganizationID, after UserID, limit int) ([]User, error) {
	size, err := c.listable(ctx, who, o, limit)
	if err != nil {
		return nil, err
	}
	return c.store.Users(ctx, o, after, size)
}

// A UsersPage is a page of users, the oldest first.
type UsersPage struct {
	Users []User
	Next  string // cursor of the next page, empty on the last
}

// UsersPage lists the users of an organisation by pages.
func (c *Coworker) UsersPage(ctx context.Context, who Caller, o OrganizationID, cursor string, limit int) (UsersPage, error) {
	size, err := c.listable(ctx, who, o, limit)
	if err != nil {
		return UsersPage{}, err
	}
	if cursor != "" && !UserID(cursor).Valid() {
		return UsersPage{}, badCursor()
	}
	users, err := c.store.Users(ctx, o, UserID(cursor), size+1)
	if err != nil {
		return UsersPage{}, err
	}
	page := UsersPage{Users: users}
	if len(users) > size {
		page.Users, page.Next = users[:size], string(users[size-1].ID)
	}
	return page, nil
}

// listable tells how much of a list of an organisation the caller may have.
func (c *Coworker) listable(ctx context.Context, who Caller, o OrganizationID, limit int) (int, error) {
	if err := who.administers(o); err != nil {
		return 0, err
	}
	if _, err := c.store.Organization(ctx, o); err != nil {
		return 0, found(err, "organization")
	}
	return pageSize(limit)
}

// RemoveUser removes a user with keys and sessions, at once. The last user of
// an organisation stays: there would be nobody left to make a key for.
func (c *Coworker) RemoveUser(ctx context.Context, who Caller, o OrganizationID, id UserID) error {
	if err := who.administers(o); err != nil {
		return err
	}
	a, err := c.act(who, o, "user.remove", string(id))
	if err != nil {
		return err
	}
	err = c.store.RemoveUser(ctx, o, id, a)
	if errors.Is(err, ErrLast) {
		return InvalidArguments(Problem{Field: "user_id", Problem: "is the last user of the organization; add another first, or delete the organization"})
	}
	return found(err, "user")
}

// found turns the store's word for what is not there into a fault.
func found(err error, what string) error {
	if errors.Is(err, ErrNotFound) {
		return Missing(what)
	}
	return err
}

// inSteps repeats a step until one finds less to do than it may.
func inSteps(limit int, step func(limit int) (int, error)) error {
	for {
		n, err := step(limit)
		if err != nil || n < limit {
			return err
		}
	}
}
