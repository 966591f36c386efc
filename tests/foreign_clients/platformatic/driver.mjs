// @platformatic/kafka: groups and their offsets. Arguments: the bootstrap address, and a group. It prints JSON.
import { Admin } from '@platformatic/kafka'

const [bootstrap, group] = process.argv.slice(2)
const admin = new Admin({ clientId: 'test', bootstrapBrokers: [bootstrap] })
const found = await admin.listConsumerGroupOffsets({ groups: [{ groupId: group }] })
const offsets = found.flatMap(({ topics }) =>
  topics.flatMap(({ name, partitions }) =>
    partitions.map(({ partitionIndex, committedOffset }) => [name, partitionIndex, Number(committedOffset)])))
await admin.deleteGroups({ groups: [group] })
await admin.close()
console.log(JSON.stringify(offsets))
