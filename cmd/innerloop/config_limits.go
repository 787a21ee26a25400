package main

import (
	"net"
	"net/url"
	"strconv"

	"innerloop/internal/limit"
)

// limits reads every limit; nil when all are off.
func (s *settings) limits(c *Config) *limit.Settings {
	all := s.choice("limits", "default", "`WORD` for all limits; off is for a server that only this machine reaches", "default", "off")
	proxies := s.check("trusted-proxies", "", "comma-separated `NETWORKS` of proxies whose X-Forwarded-For is believed", "networks in CIDR form, separated by commas", func(value string) bool {
		prefixes, err := limit.ParsePrefixes(value)
		c.TrustedProxies = prefixes
		return err == nil
	})
	l := limit.Defaults()
	for _, d := range limit.Rules() {
		what := d.Help
		if d.Window != "" {
			what += " (" + d.Window + ")"
		}
		s.check(d.Flag(), strconv.Itoa(d.Default), "`NUMBER` of "+what+"; 0 means no limit", "a whole number from 0 to "+strconv.Itoa(d.Max), func(value string) bool {
			n, err := limit.ParseNumber(d.Rule, value)
			l.Numbers[d.Rule] = n
			return err == nil
		})
	}
	s.check("limit-classes", limit.ClassesDefault, "`CLASSES` of networks with limits of their own, or none: name=CIDR,CIDR limit=NUMBER …; …", "classes of networks as docs/limits.md shows them", func(value string) bool {
		classes, err := limit.ParseClasses(value)
		l.Classes = classes
		return err == nil
	})
	if all != "off" {
		return l
	}
	host, _, _ := net.SplitHostPort(c.Listen)
	if !loopbackName(host) || proxies != "" || !loopbackOrigin(c.PublicURL) || !loopbackOrigin(c.APIURL) || !loopbackOrigin(c.GatewayURL) {
		s.fail("INNERLOOP_LIMITS=off needs a listener on loopback, public addresses that are unset or loopback, and no trusted proxies")
	}
	return nil
}

func loopbackOrigin(origin string) bool {
	u, err := url.Parse(origin)
	return origin == "" || err == nil && loopbackName(u.Hostname())
}

func loopbackName(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
