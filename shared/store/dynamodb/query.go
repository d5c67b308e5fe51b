package dynamodb

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"prowgate/shared/store"
)

// List implements store.Store. Keys are in the order of their bytes, as DynamoDB sorts strings. An item that this
// package cannot read is left out, as in Due, so that it hides no other; Load says what is wrong with it.
func (s *Store) List(ctx context.Context, prefix, after string, limit int) ([]store.Entry, error) {
	var found []store.Entry
	err := s.query(ctx, "list records", from(prefix, after), limit, func(i map[string]types.AttributeValue) (bool, error) {
		if !strings.HasPrefix(text(i, attributeKey), prefix) {
			return false, nil // keys with the prefix follow one another
		}
		if e, err := entry(i); err == nil { // all that it can say is errForeign
			found = append(found, e)
		}
		return len(found) < limit, nil
	})
	return found, err
}

// from begins with the first key that has the prefix and comes after the given key. A Query takes one
// condition on the sort key, so that the end of the prefix is seen to by the caller.
func from(prefix, after string) query {
	switch {
	case after != "" && after >= prefix:
		return query{sort: attributeKey, condition: "#sort > :sort", value: &types.AttributeValueMemberS{Value: after}}
	case prefix != "":
		return query{sort: attributeKey, condition: "#sort >= :sort", value: &types.AttributeValueMemberS{Value: prefix}}
	}
	return query{}
}

// query is a Query of the one partition, with a condition on the sort key or none.
type query struct {
	index     string // empty: the table itself
	sort      string
	condition string
	value     types.AttributeValue
}

func (q query) input(table string) *dynamodb.QueryInput {
	in := &dynamodb.QueryInput{
		TableName: aws.String(table), KeyConditionExpression: aws.String("#pk = :pk"),
		ExpressionAttributeNames:  map[string]string{"#pk": attributePartition},
		ExpressionAttributeValues: map[string]types.AttributeValue{":pk": &types.AttributeValueMemberS{Value: partition}},
	}
	if q.condition != "" {
		in.KeyConditionExpression = aws.String("#pk = :pk AND " + q.condition)
		in.ExpressionAttributeNames["#sort"] = q.sort
		in.ExpressionAttributeValues[":sort"] = q.value
	}
	if q.index != "" {
		in.IndexName = aws.String(q.index)
	} else {
		in.ConsistentRead = aws.Bool(true)
	}
	return in
}

// query visits the items in order, over all pages, until visit wants no more.
func (s *Store) query(ctx context.Context, op string, q query, limit int, visit func(map[string]types.AttributeValue) (more bool, err error)) error {
	if limit <= 0 {
		return nil
	}
	in := q.input(s.table)
	in.Limit = aws.Int32(int32(min(limit, maxPage))) //nolint:gosec // at most maxPage
	for {
		var out *dynamodb.QueryOutput
		err := reading(ctx, op, func(ctx context.Context) (err error) {
			out, err = s.api.Query(ctx, in)
			return err
		})
		if err != nil {
			return err
		}
		for _, i := range out.Items {
			if more, err := visit(i); err != nil || !more {
				return err
			}
		}
		if len(out.LastEvaluatedKey) == 0 {
			return nil
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey
	}
}
