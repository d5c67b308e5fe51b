package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"prowgate/functions/assemble"
	"prowgate/shared/config"
	"prowgate/shared/engine"
	"prowgate/shared/queue/queueurl"
	"prowgate/shared/secret"
	"prowgate/shared/secret/keyvault"
	"prowgate/shared/store"
	"prowgate/shared/store/storeurl"
	"prowgate/shared/telemetry"
)

// parts are what the handler is made of.
type parts struct {
	engine  *engine.Engine
	records store.Store
	release func(context.Context) error // lets go of them, once no call is under way any more
}

// opens are the forms of settings that this program links adapters for: those of Azure and of one machine.
func opens() []config.Form {
	return []config.Form{
		config.FormHTTP, config.FormServiceBus,
		config.FormSQLite, config.FormMemory, config.FormTable, config.FormTableStorage,
		config.FormKeyVault,
	}
}

// wire makes the parts that the settings name.
func wire(s config.Settings, clock func() time.Time, log *slog.Logger, told *telemetry.Telemetry) (parts, error) {
	token, err1 := tokenOf(s, clock, log)
	sender, err2 := queueurl.Open(s.QueueURL.Reveal())
	records, closer, err3 := storeurl.Open(s.StoreURL.Reveal())
	if err3 != nil {
		err3 = fmt.Errorf("STORE_URL: %w", err3)
	}
	if err := errors.Join(err1, err2, err3); err != nil {
		return parts{}, err
	}
	release := func(ctx context.Context) error { return errors.Join(sender.Close(ctx), closer.Close()) }
	e := assemble.Engine(s, assemble.Cloud{Token: token, Records: records, Sender: sender}, clock, log, told)
	return parts{engine: e, records: records, release: release}, nil
}

// tokenOf returns where the token for Gangway comes from: the vault, or the setting.
func tokenOf(s config.Settings, clock func() time.Time, log *slog.Logger) (*secret.Source, error) {
	if s.GangwayTokenURI == "" {
		return secret.Fixed(s.GangwayToken.Reveal(), clock, log), nil
	}
	read, err := keyvault.Reader(s.GangwayTokenURI, keyvault.Config{})
	if err != nil {
		return nil, fmt.Errorf("GANGWAY_TOKEN_URI: %w", err)
	}
	return secret.New(read, clock, log), nil
}
