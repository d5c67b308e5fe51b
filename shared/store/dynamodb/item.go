package dynamodb

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"prowgate/shared/fault"
	"prowgate/shared/store"
	"prowgate/shared/store/internal/limit"
)

const (
	// worthwhile is the size from which a body is compressed: a write is paid by the KiB.
	worthwhile = 1 << 10
	// maxItemBody leaves room for the other attributes in the 400 KiB of an item (DynamoDB, quotas).
	maxItemBody = 400<<10 - 1<<10
)

// errForeign is in the chain of the error for an item that this package did not write.
var errForeign = fmt.Errorf("an item of another form: %w", fault.ErrContent)

func itemKey(key string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{
		attributePartition: &types.AttributeValueMemberS{Value: partition}, attributeKey: &types.AttributeValueMemberS{Value: key},
	}
}

// item returns an entry as the table keeps it; a fault of kind Refused when it is too large.
func item(e store.Entry) (map[string]types.AttributeValue, error) {
	i := itemKey(e.Key)
	i[attributeVersion] = &types.AttributeValueMemberS{Value: e.Version}
	if !e.Due.IsZero() {
		i[attributeDue] = &types.AttributeValueMemberN{Value: strconv.FormatInt(e.Due.UnixMicro(), 10)}
	}
	name, body := attributeBody, e.Body
	if len(body) >= worthwhile {
		name, body = attributeGzip, compressed(body)
	}
	if len(body) > maxItemBody {
		return nil, &fault.Error{
			Kind: fault.Refused, Op: "save record",
			Text: fmt.Sprintf("the body has %d bytes after compression, and an item of DynamoDB holds %d", len(body), maxItemBody),
			Err:  fault.ErrContent,
		}
	}
	if len(body) > 0 {
		i[name] = &types.AttributeValueMemberB{Value: body}
	}
	return i, nil
}

// entry reads what item made. Its errors have errForeign in their chain.
func entry(i map[string]types.AttributeValue) (e store.Entry, err error) {
	e = store.Entry{Key: text(i, attributeKey), Version: text(i, attributeVersion)}
	if e.Version == "" {
		return store.Entry{}, fmt.Errorf("a record without a version: %w", errForeign)
	}
	if due, ok := i[attributeDue].(*types.AttributeValueMemberN); ok {
		micros, err := strconv.ParseInt(due.Value, 10, 64)
		if err != nil {
			return store.Entry{}, fmt.Errorf("due time of a record: %w: %w", errForeign, err)
		}
		e.Due = time.UnixMicro(micros).UTC()
	}
	if e.Body, err = binary(i, attributeBody); err != nil {
		return store.Entry{}, err
	}
	packed, err := binary(i, attributeGzip)
	if err == nil && len(packed) > 0 {
		e.Body, err = decompressed(packed)
	}
	return e, err
}

// binary returns an attribute of the type that bodies have; empty when it is not there.
func binary(i map[string]types.AttributeValue, name string) ([]byte, error) {
	switch v := i[name].(type) {
	case nil:
		return []byte{}, nil
	case *types.AttributeValueMemberB:
		return v.Value, nil
	}
	return nil, fmt.Errorf("%s of a record is not binary: %w", name, errForeign)
}

func text(i map[string]types.AttributeValue, name string) string {
	if s, ok := i[name].(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}

func compressed(body []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write(body) // a buffer takes everything
	_ = w.Close()
	return out.Bytes()
}

func decompressed(body []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("body of a record: %w: %w", errForeign, err)
	}
	plain, err := io.ReadAll(io.LimitReader(r, limit.BodyBytes+1))
	if err != nil || len(plain) > limit.BodyBytes {
		return nil, fmt.Errorf("body of a record is broken or too large: %w", errors.Join(errForeign, err))
	}
	return plain, nil
}
