// Runs landscape.sql in the current folder, then each query of the JSON array on stdin, in DuckDB. Prints a JSON array of their answers in the form of
// the shell of SQLite.
const { DuckDBInstance } = require('@duckdb/node-api');
const { readFileSync } = require('node:fs');

const text = (v) => (v === null ? '' : String(v));

async function main() {
  const connection = await (await DuckDBInstance.create(':memory:')).connect();
  await connection.run(readFileSync('landscape.sql', 'utf8'));
  const answers = [];
  for (const query of JSON.parse(readFileSync(0, 'utf8'))) {
    try {
      const reader = await connection.runAndReadAll(query);
      answers.push(reader.getRows().map((row) => row.map(text).join('|') + '\n').join(''));
    } catch (error) {
      answers.push(String(error));
    }
  }
  console.log(JSON.stringify(answers));
}

main();
