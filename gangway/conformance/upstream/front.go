package upstream

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"github.com/grpc-ecosystem/grpc-gateway/v2/utilities"
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"sigs.k8s.io/prow/pkg/gangway"
)

const maxRequest = 4 << 20 // what a gRPC server takes by default

// newFront serves the methods of srv under the paths that their HTTP annotations name (google.api.http, in
// prow, pkg/gangway/gangway.proto).
func newFront(srv gangway.ProwServer) (http.Handler, error) {
	mux := http.NewServeMux()
	for _, m := range gangway.Prow_ServiceDesc.Methods {
		verb, path, ok := route(m.MethodName)
		if !ok {
			return nil, fmt.Errorf("method %s has no HTTP annotation", m.MethodName)
		}
		mux.Handle(verb+" "+path, transcoded{srv, m, path})
	}
	return mux, nil
}

func route(name string) (verb, path string, ok bool) {
	options := method(gangway.File_gangway_proto, protoreflect.Name(name)).Options()
	rule, ok := proto.GetExtension(options, annotations.E_Http).(*annotations.HttpRule)
	if !ok || rule == nil {
		return "", "", false
	}
	if get := rule.GetGet(); get != "" {
		return http.MethodGet, get, true
	}
	return rule.GetCustom().GetKind(), rule.GetCustom().GetPath(), true
}

// transcoded is one method in its REST form.
type transcoded struct {
	srv    gangway.ProwServer
	method grpc.MethodDesc
	path   string
}

// ServeHTTP calls the method, with the client that the proxy has authenticated in the metadata (prow,
// pkg/config/gangway.go).
func (t transcoded) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx := metadata.NewIncomingContext(r.Context(), metadata.Pairs(
		"x-endpoint-api-consumer-type", consumerType, "x-endpoint-api-consumer-number", consumerNumber,
	))
	code, out := t.call(ctx, r)
	body, err := protojson.MarshalOptions{EmitUnpopulated: code != http.StatusOK}.Marshal(out)
	if err != nil {
		code, body = http.StatusInternalServerError, []byte(err.Error())
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(body) // a client that has gone needs no answer
}

func (t transcoded) call(ctx context.Context, r *http.Request) (int, proto.Message) {
	out, err := t.method.Handler(t.srv, ctx, func(in any) error {
		if err := t.decode(r, in.(proto.Message)); err != nil {
			return status.Error(codes.InvalidArgument, err.Error())
		}
		return nil
	}, nil)
	if err != nil {
		s := status.Convert(err) // an error without a code is Unknown, as over gRPC
		return runtime.HTTPStatusFromCode(s.Code()), s.Proto()
	}
	return http.StatusOK, out.(proto.Message)
}

func (t transcoded) decode(r *http.Request, in proto.Message) error {
	if r.Method != http.MethodGet {
		body, err := io.ReadAll(io.LimitReader(r.Body, maxRequest))
		if err != nil {
			return err
		}
		return protojson.Unmarshal(body, in)
	}
	if err := runtime.PopulateQueryParameters(in, r.URL.Query(), utilities.NewDoubleArray(nil)); err != nil {
		return err
	}
	if _, name, ok := strings.Cut(t.path, "{"); ok {
		name = strings.TrimSuffix(name, "}")
		return runtime.PopulateFieldFromPath(in, name, r.PathValue(name))
	}
	return nil
}
