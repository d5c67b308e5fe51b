package tables

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"prowgate/shared/store"
	"prowgate/shared/store/internal/limit"
)

const (
	partition = "records"

	// A binary property holds 64 KiB at most (learn.microsoft.com, Understanding the Table service data
	// model), so a body is cut into Body0, Body1 and so on.
	partBytes = 64 << 10
	bodyName  = "Body"

	// dueName is the due time in microseconds since 1970, and agendaName the row of the agenda that stands for
	// it. An entry without them is never due.
	dueName    = "Due"
	agendaName = "AgendaRow"
)

// rowKey is the key in hexadecimal: it holds none of the characters that the service refuses, sorts as the
// key's bytes do, keeps prefixes, and at 400 characters stays below the 512 that a key may have.
func rowKey(key string) string { return hex.EncodeToString([]byte(key)) }

// storable reports whether a key can have been saved.
func storable(key string) bool { return limit.Check(store.Entry{Key: key}) == nil }

// encode returns the entity that holds e; agenda is its row of the agenda, empty when it is never due.
func encode(e store.Entry, agenda string) ([]byte, error) {
	properties := map[string]any{}
	if agenda != "" {
		properties[dueName] = aztables.EDMInt64(e.Due.UnixMicro())
		properties[agendaName] = agenda
	}
	for i, rest := 0, e.Body; i == 0 || len(rest) > 0; i++ {
		n := min(len(rest), partBytes)
		properties[bodyName+strconv.Itoa(i)] = aztables.EDMBinary(rest[:n])
		rest = rest[n:]
	}
	return json.Marshal(aztables.EDMEntity{
		Entity: aztables.Entity{PartitionKey: partition, RowKey: rowKey(e.Key)}, Properties: properties,
	})
}

// decode returns the entry in an entity. The ETag comes with the answer's header when there is one entity
// in it, and with each entity when there may be many.
func decode(row []byte, etag azcore.ETag) (store.Entry, error) {
	var entity aztables.EDMEntity
	if err := json.Unmarshal(row, &entity); err != nil {
		return store.Entry{}, fmt.Errorf("entity: %w", err)
	}
	key, err := hex.DecodeString(entity.RowKey)
	if err != nil {
		return store.Entry{}, fmt.Errorf("row key: %w", err)
	}
	if etag == "" {
		etag = azcore.ETag(entity.ETag)
	}
	if etag == "" {
		return store.Entry{}, errUnnamed
	}
	agenda, _ := entity.Properties[agendaName].(string)
	e := store.Entry{Key: string(key), Version: version{etag, agenda}.String()}
	if due, ok := entity.Properties[dueName].(aztables.EDMInt64); ok {
		e.Due = time.UnixMicro(int64(due)).UTC()
	}
	e.Body, err = body(entity.Properties)
	return e, err
}

// body puts the parts together. One of another type, or none at all, is an entity that this package did
// not write.
func body(properties map[string]any) ([]byte, error) {
	whole := []byte{}
	for i := 0; ; i++ {
		part, there := properties[bodyName+strconv.Itoa(i)]
		if !there && i > 0 {
			return whole, nil
		}
		bytes, ok := part.(aztables.EDMBinary)
		if !ok {
			return nil, fmt.Errorf("%s%d is no binary property", bodyName, i)
		}
		whole = append(whole, bytes...)
	}
}
