// node secured.mjs < CASES: one request by kafkajs for each case, over its protocol and mechanism; prints what each said
// as JSON. CASES is a JSON array of objects; what is said is "" where the request was answered.
import { readFileSync } from 'node:fs'
import { Kafka, logLevel } from 'kafkajs'

const sasl = one => one.mechanism === 'OAUTHBEARER'
  ? { mechanism: 'oauthbearer', oauthBearerProvider: async () => ({ value: one.token }) }
  : { mechanism: one.mechanism.toLowerCase(), username: one.user, password: one.password }

const tls = one => ({
  ca: [readFileSync(one.trusted)],
  ...(one.own ? { cert: readFileSync(one.own), key: readFileSync(one.own) } : {}),
})

const ask = async one => {
  const admin = new Kafka({
    brokers: [one.bootstrap],
    logLevel: logLevel.NOTHING,
    retry: { retries: 0 },
    ...(one.protocol.endsWith('SSL') ? { ssl: tls(one) } : {}),
    ...(one.protocol.startsWith('SASL') ? { sasl: sasl(one) } : {}),
  }).admin()
  try {
    await admin.connect()
    await admin.listPartitionReassignments({})
    return ''
  } catch (error) {
    return `${error.name}: ${error.message}`
  } finally {
    await admin.disconnect()
  }
}

const said = []
for (const one of JSON.parse(readFileSync(0, 'utf8'))) said.push(await ask(one))
process.stdout.write(JSON.stringify(said))
