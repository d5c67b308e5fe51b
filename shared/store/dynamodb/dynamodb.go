// Package dynamodb keeps the record store in a table of Amazon DynamoDB.
//
// The table has the key (pk, sk): pk is the same for all records and sk is the record's key, so that one
// Query lists keys in order. One partition takes 1,000 writes of 1 KiB a second, and records are
// compressed to about that; at Gangway's 9 submissions a minute and 4 hours a job there are 2,160 gates at
// most, which save once or twice a minute: 72 a second. The sparse index "due" has the key (pk, due) and
// holds keys alone; what it names is read from the table, because an index may lag.
//
// An item holds 400 KiB. A body of up to 512 KiB has to compress to that, as JSON does; one that does not
// is refused.
//
// Entry point: New.
package dynamodb

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"prowgate/shared/awsfault"
	"prowgate/shared/store"
	"prowgate/shared/store/internal/limit"
)

var _ store.Store = (*Store)(nil)

const (
	// DueIndex is the name of the index over the due times.
	DueIndex = "due"
	// partition is the one value of pk.
	partition = "record"
	// maxPage is the most that one Query asks for; DynamoDB ends a page at 1 MiB itself.
	maxPage = 1000
	// patience is how long one request may take.
	patience = 10 * time.Second
)

// The attributes of an item.
const (
	attributePartition = "pk"
	attributeKey       = "sk"
	attributeVersion   = "version"
	attributeDue       = "due"  // microseconds since 1970; absent for never
	attributeBody      = "body" // absent when empty
	attributeGzip      = "gzip" // the body, compressed
)

// Store is a store.Store in a table. It retries nothing and may be used by many goroutines at once; see
// package awsfault for the kinds of its errors.
type Store struct {
	api   *dynamodb.Client
	table string
}

// New returns the store in that table. It connects to nothing yet.
func New(cfg aws.Config, table string) *Store {
	once := func(o *dynamodb.Options) {
		o.Retryer = aws.NopRetryer{} // a repeated write would meet its own first attempt and take it for somebody else's
		o.HTTPClient = awsfault.Watch(o.HTTPClient)
	}
	return &Store{api: dynamodb.NewFromConfig(cfg, once), table: table}
}

// Close implements io.Closer. Idle connections end by themselves.
func (*Store) Close() error { return nil }

// Load implements store.Store.
func (s *Store) Load(ctx context.Context, key string) (e store.Entry, ok bool, err error) {
	if !storable(key) {
		return store.Entry{}, false, nil
	}
	err = reading(ctx, "load record", func(ctx context.Context) error {
		out, err := s.api.GetItem(ctx, &dynamodb.GetItemInput{TableName: &s.table, Key: itemKey(key), ConsistentRead: aws.Bool(true)})
		if err != nil || out.Item == nil {
			return err
		}
		ok = true
		e, err = entry(out.Item)
		return err
	})
	if err != nil {
		return store.Entry{}, false, err
	}
	return e, ok, nil
}

// Save implements store.Store. The new version is random, so that no key ever sees one again.
func (s *Store) Save(ctx context.Context, e store.Entry) (string, error) {
	if err := limit.Check(e); err != nil {
		return "", err
	}
	condition := unchanged(e.Version)
	e.Version = rand.Text()
	made, err := item(e)
	if err != nil {
		return "", err
	}
	err = writing(ctx, "save record", func(ctx context.Context) error {
		_, err := s.api.PutItem(ctx, &dynamodb.PutItemInput{
			TableName: &s.table, Item: made, ConditionExpression: &condition.expression,
			ExpressionAttributeNames: condition.names, ExpressionAttributeValues: condition.values,
		})
		return err
	})
	if err != nil {
		return "", err
	}
	return e.Version, nil
}

// Delete implements store.Store.
func (s *Store) Delete(ctx context.Context, key, version string) error {
	if !storable(key) {
		return nil
	}
	condition := unchanged(version)
	if version != "" {
		condition.expression = "attribute_not_exists(#key) OR " + condition.expression
		condition.names["#key"] = attributeKey
	}
	return writing(ctx, "delete record", func(ctx context.Context) error {
		_, err := s.api.DeleteItem(ctx, &dynamodb.DeleteItemInput{
			TableName: &s.table, Key: itemKey(key), ConditionExpression: &condition.expression,
			ExpressionAttributeNames: condition.names, ExpressionAttributeValues: condition.values,
		})
		return err
	})
}

// storable reports whether there can be an entry of that key at all.
func storable(key string) bool { return limit.Check(store.Entry{Key: key}) == nil }

// condition is a condition of a write.
type condition struct {
	expression string
	names      map[string]string
	values     map[string]types.AttributeValue
}

// unchanged holds while the item has that version, or while there is none when the version is empty.
func unchanged(version string) condition {
	if version == "" {
		return condition{"attribute_not_exists(#key)", map[string]string{"#key": attributeKey}, nil}
	}
	return condition{
		"#version = :version",
		map[string]string{"#version": attributeVersion},
		map[string]types.AttributeValue{":version": &types.AttributeValueMemberS{Value: version}},
	}
}

// Due implements store.Store. Entries that are due at the same time come in no order. The index may lag
// behind the table: an entry that it does not show yet is found by a later call, and one that has changed
// meanwhile is judged by what it is now. One that this package cannot read is left out, so that it holds up no other.
func (s *Store) Due(ctx context.Context, before time.Time, limit int) ([]store.Entry, error) {
	var found []store.Entry
	bound := &types.AttributeValueMemberN{Value: fmt.Sprint(before.UnixMicro())}
	q := query{index: DueIndex, sort: attributeDue, condition: "#sort <= :sort", value: bound}
	err := s.query(ctx, "list due records", q, limit, func(i map[string]types.AttributeValue) (bool, error) {
		e, ok, err := s.Load(ctx, text(i, attributeKey))
		if errors.Is(err, errForeign) {
			return true, nil
		}
		if err == nil && ok && !e.Due.IsZero() && !e.Due.After(before) {
			found = append(found, e)
		}
		return len(found) < limit, err
	})
	return found, err
}
