// secured < CASES: one request by franz-go for each case, over its protocol and mechanism; prints what each said as JSON.
//
// CASES is a JSON array of objects; what is said is "" where the request was answered.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"os"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

type way struct {
	Bootstrap, Protocol, Mechanism, User, Password, Token, Trusted, Own string
}

func main() {
	var ways []way
	if err := json.NewDecoder(os.Stdin).Decode(&ways); err != nil {
		panic(err)
	}
	said := make([]string, 0, len(ways))
	for _, one := range ways {
		text := ""
		if err := ask(one); err != nil {
			text = err.Error()
		}
		said = append(said, text)
	}
	if err := json.NewEncoder(os.Stdout).Encode(said); err != nil {
		panic(err)
	}
}

func ask(one way) error {
	options := []kgo.Opt{kgo.SeedBrokers(one.Bootstrap), kgo.RequestRetries(0)}
	if strings.HasSuffix(one.Protocol, "SSL") {
		config, err := tlsConfig(one)
		if err != nil {
			return err
		}
		options = append(options, kgo.DialTLSConfig(config))
	}
	if strings.HasPrefix(one.Protocol, "SASL") {
		options = append(options, kgo.SASL(mechanism(one)))
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, end := context.WithTimeout(context.Background(), 30*time.Second)
	defer end()
	_, err = kmsg.NewPtrListPartitionReassignmentsRequest().RequestWith(ctx, client)
	return err
}

func tlsConfig(one way) (*tls.Config, error) {
	trusted, err := os.ReadFile(one.Trusted)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{RootCAs: x509.NewCertPool()}
	config.RootCAs.AppendCertsFromPEM(trusted)
	if one.Own != "" {
		own, err := tls.LoadX509KeyPair(one.Own, one.Own)
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{own}
	}
	return config, nil
}

func mechanism(one way) sasl.Mechanism {
	switch one.Mechanism {
	case "PLAIN":
		return plain.Auth{User: one.User, Pass: one.Password}.AsMechanism()
	case "SCRAM-SHA-256":
		return scram.Auth{User: one.User, Pass: one.Password}.AsSha256Mechanism()
	case "SCRAM-SHA-512":
		return scram.Auth{User: one.User, Pass: one.Password}.AsSha512Mechanism()
	default:
		return oauth.Auth{Token: one.Token}.AsMechanism()
	}
}
