package config

import (
	"errors"
	"net/url"
	"strconv"
	"strings"
)

// webURL parses an absolute http(s) URL that is nothing but scheme, host and path. Its errors never
// hold the value: net/url's own would.
func webURL(value string) (*url.URL, error) {
	u, err := url.Parse(value)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return nil, errors.New("must be an absolute http or https URL")
	case u.User != nil:
		return nil, errors.New("must not hold a user name or password")
	case u.RawQuery != "" || u.ForceQuery:
		return nil, errors.New("must not have a query")
	case strings.Contains(value, "#"):
		return nil, errors.New("must not have a fragment")
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return nil, errors.New("must have a port from 1 to 65535, or none")
		}
	}
	return u, nil
}

// baseURL parses a URL that paths are appended to: without trailing slashes, and without the suffix
// that people copy along with it.
func baseURL(value, suffix string) (*url.URL, error) {
	u, err := webURL(value)
	if err != nil {
		return nil, err
	}
	path := strings.TrimRight(u.EscapedPath(), "/")
	path = strings.TrimRight(strings.TrimSuffix(path, suffix), "/")
	u.RawPath = path
	if u.Path, err = url.PathUnescape(path); err != nil {
		return nil, errors.New("must have a path with valid escapes")
	}
	return u, nil
}
