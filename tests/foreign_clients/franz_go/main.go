// driver HOST:PORT TOPIC: drives franz-go's kgo and kadm; prints [[label, result], …] as JSON.
//
// TOPIC exists with partitions 0: [1, 2] and 1: [2, 3], and what moves in it is held by a throttle.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

var notes [][2]any

func note(label string, result any, err error) {
	if err != nil {
		result = failure(err, "")
	}
	notes = append(notes, [2]any{label, result})
}

// failure is how an error is compared: Kafka's name and the server's words, but for the brokers alive, which stock
// Kafka names in no order.
func failure(err error, words string) any {
	if err == nil {
		return "done"
	}
	name := err.Error()
	var known *kerr.Error
	if errors.As(err, &known) {
		name = known.Message
	}
	words, _, _ = strings.Cut(words, ", live broker list")
	return []string{name, words}
}

// until looks again and again, for what brokers learn a moment late; it gives up after a while and returns what it saw.
func until[T any](look func() (T, error), good func(T) bool) (found T, err error) {
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if found, err = look(); err == nil && good(found) {
			break
		}
	}
	return found, err
}

func main() {
	bootstrap, topic := os.Args[1], os.Args[2]
	ctx, end := context.WithTimeout(context.Background(), 80*time.Second)
	defer end()
	client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap), kgo.ClientID("franz-go-test"))
	if err != nil {
		panic(err)
	}
	defer client.Close()
	drive(ctx, client, kadm.NewClient(client), topic)
	if err := json.NewEncoder(os.Stdout).Encode(notes); err != nil {
		panic(err)
	}
}

func drive(ctx context.Context, client *kgo.Client, admin *kadm.Client, topic string) {
	cluster, err := admin.BrokerMetadata(ctx)
	note("brokers", cluster.Brokers.NodeIDs(), err)
	vendors, err := vendorKeys(ctx, admin)
	note("vendor keys", vendors, err)
	partitions, err := until(partitionsOf(ctx, admin, topic), led(2))
	note("metadata", partitions, err)

	retention := "86400000"
	other := topic + "-2"
	created, err := admin.CreateTopic(ctx, 2, 2, map[string]*string{"retention.ms": &retention}, other)
	note("create", failure(created.Err, created.ErrMessage), err)
	again, err := admin.CreateTopic(ctx, 2, 2, nil, other)
	note("create again", failure(again.Err, again.ErrMessage), nil)
	grown, err := admin.UpdatePartitions(ctx, 3, other)
	note("grow", failure(grown[other].Err, grown[other].ErrMessage), err)
	shown, err := until(partitionsOf(ctx, admin, other), led(3))
	note("grown", len(shown), err)

	day := kadm.AlterConfig{Op: kadm.SetConfig, Name: "retention.ms", Value: kadm.StringPtr("3600000")}
	alter := func() (kadm.AlterConfigsResponses, error) {
		return admin.AlterTopicConfigs(ctx, []kadm.AlterConfig{day}, other)
	}
	changed, err := until(alter, func(found kadm.AlterConfigsResponses) bool {
		return !errors.Is(found[0].Err, kerr.UnknownTopicOrPartition) // a broker may be the last to know the topic
	})
	note("alter configs", failure(changed[0].Err, changed[0].ErrMessage), err)
	configs, err := until(configsOf(ctx, admin, other), func(found [][]string) bool { return len(found) == 1 && found[0][1] == "3600000" })
	note("configs", configs, err)

	dirs, err := until(replicasOf(ctx, admin, topic), func(found [][]int32) bool { return len(found) == 4 })
	note("log dirs", dirs, err)

	note("nothing moves", moves(ctx, admin, topic), nil)
	note("start", assign(ctx, admin, topic, map[int32][]int32{0: {3, 4}}), nil)
	note("list", moves(ctx, admin, topic), nil)
	tagged, err := areTagged(ctx, client, topic)
	note("a move has tags", tagged, err)
	note("mixed", assign(ctx, admin, topic, map[int32][]int32{0: {3, 5}, 1: {99}, 9: {1}}), nil)
	note("list again", moves(ctx, admin, topic), nil)
	note("unknown topic", assign(ctx, admin, "never-was", map[int32][]int32{0: {1}}), nil)
	note("cancel", assign(ctx, admin, topic, map[int32][]int32{0: nil}), nil)
	note("cancel again", assign(ctx, admin, topic, map[int32][]int32{0: nil}), nil)
	note("nothing is left", moves(ctx, admin, topic), nil)

	var set kadm.TopicsSet
	set.Add(topic, 1, 7)
	elected, err := admin.ElectLeaders(ctx, kadm.ElectPreferredReplica, set)
	results := map[int32]any{}
	for partition, result := range elected[topic] {
		results[partition] = failure(result.Err, result.ErrMessage)
	}
	note("elect", results, err)
	deleted, err := admin.DeleteTopic(ctx, other)
	note("delete", failure(deleted.Err, deleted.ErrMessage), err)
	gone, _ := admin.DeleteTopic(ctx, "never-was")
	note("delete what never was", failure(gone.Err, gone.ErrMessage), nil)
}

// vendorKeys are those beyond Kafka's that any node advertises.
func vendorKeys(ctx context.Context, admin *kadm.Client) ([]int16, error) {
	versions, err := admin.ApiVersions(ctx)
	found := []int16{}
	versions.Each(func(node kadm.BrokerApiVersions) {
		err = errors.Join(err, node.Err)
		node.EachKeySorted(func(key, _, _ int16) {
			if key > kmsg.MaxKey && !slices.Contains(found, key) {
				found = append(found, key)
			}
		})
	})
	slices.Sort(found)
	return found, err
}

func partitionsOf(ctx context.Context, admin *kadm.Client, topic string) func() ([][]any, error) {
	return func() ([][]any, error) {
		described, err := admin.Metadata(ctx, topic)
		found := [][]any{}
		for _, partition := range described.Topics[topic].Partitions.Sorted() {
			found = append(found, []any{partition.Partition, partition.Leader, partition.Replicas})
		}
		return found, err
	}
}

func led(count int) func([][]any) bool {
	return func(found [][]any) bool {
		leaderless := slices.ContainsFunc(found, func(partition []any) bool { return partition[1].(int32) < 0 })
		return len(found) == count && !leaderless
	}
}

// configsOf gives what is set on a topic itself.
func configsOf(ctx context.Context, admin *kadm.Client, topic string) func() ([][]string, error) {
	return func() ([][]string, error) {
		described, err := admin.DescribeTopicConfigs(ctx, topic)
		return own(described), err
	}
}

// own leaves out what a topic has from elsewhere.
func own(described kadm.ResourceConfigs) [][]string {
	found := [][]string{}
	for _, resource := range described {
		for _, config := range resource.Configs {
			if config.Source == kmsg.ConfigSourceDynamicTopicConfig {
				found = append(found, []string{config.Key, config.MaybeValue()})
			}
		}
	}
	slices.SortFunc(found, slices.Compare)
	return found
}

// replicasOf gives broker and partition of each replica that a log dir holds.
func replicasOf(ctx context.Context, admin *kadm.Client, topic string) func() ([][]int32, error) {
	return func() ([][]int32, error) {
		var set kadm.TopicsSet
		set.Add(topic, 0, 1)
		described, err := admin.DescribeAllLogDirs(ctx, set)
		found := [][]int32{}
		described.Each(func(dir kadm.DescribedLogDir) {
			err = errors.Join(err, dir.Err)
			dir.Topics.Each(func(one kadm.DescribedLogDirPartition) {
				found = append(found, []int32{one.Broker, one.Partition})
			})
		})
		slices.SortFunc(found, slices.Compare)
		return found, err
	}
}

func assign(ctx context.Context, admin *kadm.Client, topic string, to map[int32][]int32) any {
	var request kadm.AlterPartitionAssignmentsReq
	for partition, brokers := range to {
		if brokers == nil {
			request.CancelAssign(topic, partition)
		} else {
			request.Assign(topic, partition, brokers)
		}
	}
	answers, err := admin.AlterPartitionAssignments(ctx, request)
	if err != nil {
		return failure(err, "")
	}
	found := [][]any{}
	for _, one := range answers.Sorted() {
		found = append(found, []any{one.Partition, failure(one.Err, one.ErrMessage)})
	}
	return found
}

func moves(ctx context.Context, admin *kadm.Client, topic string) any {
	listed, err := admin.ListPartitionReassignments(ctx, nil)
	if err != nil {
		return failure(err, "")
	}
	found := [][]any{}
	for _, one := range listed.Sorted() {
		if one.Topic == topic {
			found = append(found, []any{one.Partition, one.Replicas, one.AddingReplicas, one.RemovingReplicas})
		}
	}
	return found
}

// areTagged tells whether a listed partition carries tagged fields that franz-go does not know.
func areTagged(ctx context.Context, client *kgo.Client, topic string) (found bool, err error) {
	request := kmsg.NewPtrListPartitionReassignmentsRequest()
	named := kmsg.NewListPartitionReassignmentsRequestTopic()
	named.Topic, named.Partitions = topic, []int32{0, 1}
	request.Topics = append(request.Topics, named)
	answer, err := request.RequestWith(ctx, client)
	if err != nil {
		return false, err
	}
	for _, topic := range answer.Topics {
		for _, partition := range topic.Partitions {
			found = found || partition.UnknownTags.Len() > 0
		}
	}
	return found, nil
}
