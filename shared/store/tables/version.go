package tables

import (
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
)

// version is what a store.Entry's version says: the service's ETag and the entry's row of the agenda, empty for an
// entry that is never due.
type version struct {
	etag   azcore.ETag
	agenda string
}

// String is the ETag, followed by the row if there is one.
func (v version) String() string {
	if v.agenda == "" {
		return string(v.etag)
	}
	return string(v.etag) + " " + v.agenda
}

// parseVersion reads what String wrote. Where there is not this service's form of an ETag there is none: "*"
// would match every version.
func parseVersion(text string) version {
	etag, agenda, _ := strings.Cut(text, " ")
	if !strings.HasPrefix(etag, `W/"`) || !strings.HasSuffix(etag, `"`) || len(etag) <= len(`W/""`) {
		return version{}
	}
	return version{azcore.ETag(etag), agenda}
}
