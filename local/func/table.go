package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
)

// makeTable makes the table of a STORE_URL that is a connection string, unless it is there already. In Azure
// the template makes it; an emulator starts empty. Errors show no key.
func makeTable(ctx context.Context, storeURL string) error {
	rest, table := cutTable(storeURL)
	service, err := aztables.NewServiceClientFromConnectionString(rest, nil)
	if err != nil || table == "" {
		return errors.New("STORE_URL must be a storage connection string with TableName=<table>") // the cause may show a part of it
	}
	_, err = service.NewClient(table).CreateTable(ctx, nil)
	var answered *azcore.ResponseError
	if errors.As(err, &answered) && answered.StatusCode == http.StatusConflict {
		return nil
	}
	if err != nil {
		return fmt.Errorf("make the table %s: %w", table, err)
	}
	return nil
}

// cutTable takes the part TableName=<table> out of a connection string.
func cutTable(value string) (rest, table string) {
	var parts []string
	for part := range strings.SplitSeq(value, ";") {
		if key, name, _ := strings.Cut(part, "="); strings.EqualFold(strings.TrimSpace(key), "TableName") {
			table = strings.TrimSpace(name)
			continue
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ";"), table
}
