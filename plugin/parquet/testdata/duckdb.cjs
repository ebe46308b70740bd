// Answers requests, one JSON object on each line of stdin, by one on each line of stdout:
//   {"read": PATH}  → {"rows": [[[NAME, VALUE], …], …]} as DuckDB reads the Parquet file, or {"error": WORDS}
//   {"run": SQL}    → {}, or {"error": WORDS}
// A VALUE says what it is, exactly: see value.
const { DuckDBInstance } = require('@duckdb/node-api');
const readline = require('node:readline');

const hex = (bytes) => Buffer.from(bytes).toString('hex');

function bits(number) {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, number);
  return view.getBigUint64(0).toString(16);
}

function decimal(v) {
  const digits = (v.value < 0n ? -v.value : v.value).toString().padStart(v.scale + 1, '0');
  const whole = digits.slice(0, digits.length - v.scale);
  return (v.value < 0n ? '-' : '') + whole + (v.scale > 0 ? '.' + digits.slice(-v.scale) : '');
}

function value(v, type) {
  if (v === null) return null;
  const name = type.toString();
  const kind = v.constructor.name;
  if (type.alias === 'JSON') return { json: v };
  if (name.endsWith('[]')) return { list: v.items.map((item) => value(item, type.valueType)) };
  if (name.startsWith('STRUCT')) return { object: type.entryNames.map((key, i) => [key, value(v.entries[key], type.entryTypes[i])]) };
  if (name.startsWith('MAP')) return { map: v.entries.map((e) => [value(e.key, type.keyType), value(e.value, type.valueType)]) };
  if (name === 'FLOAT' || name === 'DOUBLE') return { float: bits(v) };
  if (typeof v === 'boolean') return { bool: v };
  if (typeof v === 'number' || typeof v === 'bigint') return { number: v.toString() };
  if (typeof v === 'string') return { text: v };
  switch (kind) {
    case 'DuckDBBlobValue': return { bytes: hex(v.bytes) };
    case 'DuckDBDecimalValue': return { number: decimal(v) };
    case 'DuckDBDateValue': return { day: v.days };
    case 'DuckDBTimestampValue': case 'DuckDBTimestampTZValue': return { nanos: (v.micros * 1000n).toString() };
    case 'DuckDBTimestampNanosecondsValue': return { nanos: v.nanos.toString() };
    case 'DuckDBTimestampMillisecondsValue': return { nanos: (v.millis * 1000000n).toString() };
    case 'DuckDBTimestampSecondsValue': return { nanos: (v.seconds * 1000000000n).toString() };
    case 'DuckDBTimeValue': case 'DuckDBTimeTZValue': return { clock: (v.micros * 1000n).toString() };
    case 'DuckDBTimeNSValue': return { clock: v.nanos.toString() };
    case 'DuckDBUUIDValue': return { text: v.toString() };
    case 'DuckDBIntervalValue': return { interval: [v.months, v.days, Number(v.micros / 1000n)] };
  }
  throw new Error(`no words for ${kind} of ${name}`);
}

async function read(connection, path) {
  const reader = await connection.runAndReadAll(`from read_parquet('${path}')`);
  const names = reader.columnNames();
  const types = reader.columnTypes();
  return { rows: reader.getRows().map((row) => row.map((v, i) => [names[i], value(v, types[i])])) };
}

async function connect() {
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
  return instance.connect();
}

async function main() {
  let connection = await connect();
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const request = JSON.parse(line);
    let answer;
    try {
      answer = request.read === undefined ? (await connection.run(request.run), {}) : await read(connection, request.read);
    } catch (error) {
      answer = { error: String(error.message).split('\n')[0] };
      if (/INTERNAL|FATAL/.test(answer.error)) connection = await connect(); // the old one answers nothing any more
    }
    process.stdout.write(JSON.stringify(answer) + '\n');
  }
}

main();
