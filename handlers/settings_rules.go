package handlers

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"innerloop/coworker"
	"innerloop/coworker/connect"
	"innerloop/web/settings"
)

// organizationPage is GET /settings of somebody who is signed in.
func (s *Server) organizationPage(d *desk) error { return s.showOrganization(d, "") }

func (s *Server) showOrganization(d *desk, network string) error {
	o, err := s.coworker.Organization(d.ctx, d.who, d.organization())
	if err != nil {
		return err
	}
	d.frame.Title, d.frame.Path, d.frame.Section = d.messages().Organization, settings.Path, settings.Path
	v := settings.Organization{Frame: d.frame, ID: string(o.ID), Created: settings.At(d.lang(), o.CreatedAt)}
	if s.keeper != nil {
		rules, err := s.keeper.Settings(d.ctx, d.who)
		if err != nil {
			return err
		}
		networks, err := s.keeper.Networks(d.ctx, d.who, o.ID)
		if err != nil {
			return err
		}
		v.Rules = &settings.Rules{Confirm: rules.MustConfirm, Broker: rules.BrokerOnly, All: rules.AllWhenUnnamed, Network: network}
		for _, n := range networks {
			v.Rules.Networks = append(v.Rules.Networks, n.String())
		}
	}
	return s.sheet(d.Ctx, settings.OrganizationPage(v))
}

// saveRulesForm is POST /settings/rules: what the reader changed of the rules
// that the form was shown with (was). What another admin changed meanwhile stays.
func (s *Server) saveRulesForm(d *desk, values url.Values) error {
	if err := only(values, []string{"was", "confirm", "broker", "all"}); err != nil {
		return err
	}
	was, shown := strings.Fields(values.Get("was")), values.Has("was")
	become := func(name string) *bool {
		on := values.Get(name) == "yes"
		if shown && on == slices.Contains(was, name) {
			return nil
		}
		return &on
	}
	change := connect.SettingsChange{MustConfirm: become("confirm"), BrokerOnly: become("broker"), AllWhenUnnamed: become("all")}
	if _, err := s.keeper.ChangeSettings(d.ctx, d.who, d.organization(), change); err != nil {
		return err
	}
	return d.onward(settings.Path, "saved")
}

// admitNetworkForm is POST /settings/networks.
func (s *Server) admitNetworkForm(d *desk, values url.Values) error {
	if err := only(values, []string{"cidr"}); err != nil {
		return err
	}
	_, err := s.keeper.AllowNetwork(d.ctx, d.who, d.organization(), values.Get("cidr"))
	if err == nil {
		return d.onward(settings.Path, "admitted")
	}
	if err := d.faulty(err, func(string) string { return d.messages().Rule.Network }); err != nil {
		return err
	}
	return s.showOrganization(d, values.Get("cidr"))
}

// forbidNetworkForm is POST /settings/networks/remove.
func (s *Server) forbidNetworkForm(d *desk, values url.Values) error {
	if err := only(values, []string{"cidr"}); err != nil {
		return err
	}
	n, err := netip.ParsePrefix(values.Get("cidr"))
	if err != nil {
		return coworker.Missing("network")
	}
	if err := s.keeper.ForbidNetwork(d.ctx, d.who, d.organization(), n); err != nil {
		return err
	}
	return d.onward(settings.Path, "forbidden")
}
