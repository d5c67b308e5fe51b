package gangway

import (
	"net/url"
	"strings"
	"unicode/utf8"

	"prowgate/shared/fault"
)

// root is where the artifacts of one run lie.
type root struct{ bucket, path string }

// parseJobURL reads <deck>/view/gs/<bucket>/<path>, also with the older /view/gcs/ and with a slash at the
// end (prow, cmd/deck, spyglass). The URL comes from a job's status, so nothing in it is trusted: its host
// is not used, and what could lead out of the bucket or the path is Refused.
func parseJobURL(jobURL string) (root, error) {
	no := func(text string) (root, error) {
		return root{}, &fault.Error{Kind: fault.Refused, Op: "read the job's URL", Text: text}
	}
	u, err := url.Parse(jobURL)
	switch {
	case jobURL == "":
		return no("the job has none")
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return no("not an absolute http(s) URL")
	case strings.ContainsAny(jobURL, "?#%\\") || u.User != nil:
		return no("it holds more than a path")
	}
	_, view, found := strings.Cut(u.Path, "/view/")
	provider, object, _ := strings.Cut(view, "/")
	bucket, path, _ := strings.Cut(object, "/")
	path = strings.TrimSuffix(path, "/")
	switch {
	case !found:
		return no("not the URL of a run, it lacks /view/")
	case provider == "s3":
		return no("artifacts in S3 cannot be read, only those in Google Cloud Storage")
	case provider != "gs" && provider != "gcs":
		return no("an unknown kind of artifacts store")
	case !validBucket(bucket):
		return no("not the name of a bucket")
	case !validName(path):
		return no("not the path of a run")
	}
	return root{bucket: bucket, path: path}, nil
}

// validBucket holds a bucket's name to the characters of Google Cloud Storage.
func validBucket(name string) bool {
	strange := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '.' && r != '_'
	}
	return len(name) >= 3 && len(name) <= 222 && !strings.Contains(name, "..") &&
		strings.Trim(name, ".") == name && !strings.ContainsFunc(name, strange)
}

// validName reports whether name is a relative path that means the same to everybody: no empty, "." or ".."
// part, nothing that ends a path or is escaped in one.
func validName(name string) bool {
	strange := func(r rune) bool { return r < ' ' || r == 0x7f || strings.ContainsRune(`?#%\`, r) }
	if len(name) > 1024 || !utf8.ValidString(name) || strings.ContainsFunc(name, strange) {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part == "." || part == ".." {
			return false
		}
	}
	return true
}
