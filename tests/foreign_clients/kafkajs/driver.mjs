// node driver.mjs HOST:PORT TOPIC: drives kafkajs' admin client; prints [[label, result], …] as JSON.
import { Kafka, logLevel } from 'kafkajs'

const [bootstrap, topic] = process.argv.slice(2)
const kafka = new Kafka({ brokers: [bootstrap], clientId: 'kafkajs-test', logLevel: logLevel.NOTHING })
const admin = kafka.admin({ retry: { retries: 5 } })
const notes = []

const note = async (label, call, show = found => found) => {
  try {
    notes.push([label, show(await call())])
  } catch (error) {
    notes.push([label, { error: error.type ?? error.name, message: error.message }])
  }
}

const moving = found => found.topics.filter(each => each.topic ?? each.name).map(each => ({
  topic: each.topic ?? each.name,
  partitions: each.partitions.map(p => [p.partition ?? p.partitionIndex, p.replicas, p.addingReplicas, p.removingReplicas]),
}))
const replicas = found => found.topics[0].partitions
  .map(p => [p.partitionId, p.leader, p.replicas])
  .sort((left, right) => left[0] - right[0])
const start = (partition, to) =>
  admin.alterPartitionReassignments({ topics: [{ topic, partitionAssignment: [{ partition, replicas: to }] }] })

await admin.connect()
await note('cluster', () => admin.describeCluster(), found => found.brokers.map(broker => broker.nodeId).sort((a, b) => a - b))
await note('topics', () => admin.listTopics(), found => found.includes(topic))
await note('metadata', () => admin.fetchTopicMetadata({ topics: [topic] }), replicas)
await note('nothing moves', () => admin.listPartitionReassignments({}), moving)
await note('start', () => start(0, [3, 4]), () => 'started')
await note('list', () => admin.listPartitionReassignments({}), moving)
await note('list one', () => admin.listPartitionReassignments({ topics: [{ topic, partitions: [0, 1] }] }), moving)
await note('refused', () => start(1, [99]))
await note('unknown', () => start(9, [1]))
await note('back', () => start(0, [1, 2]), () => 'started')
await note('nothing is left', () => admin.listPartitionReassignments({}), moving)
await note('configs', () => admin.describeConfigs({
  includeSynonyms: false,
  resources: [{ type: 2, name: topic, configNames: ['retention.ms', 'min.insync.replicas'] }],
}), found => found.resources[0].configEntries.map(entry => [entry.configName, entry.configValue]).sort())
await note('create', () => admin.createTopics({ topics: [{ topic: `${topic}-2`, numPartitions: 2, replicationFactor: 2 }] }))
await note('grow', () => admin.createPartitions({ topicPartitions: [{ topic: `${topic}-2`, count: 3 }] }))
await note('delete', () => admin.deleteTopics({ topics: [`${topic}-2`] }), () => 'deleted')
await admin.disconnect()
process.stdout.write(JSON.stringify(notes))
