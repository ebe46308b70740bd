// Checks the RO-Crate in the folder that the argument names with the library ro-crate. Prints as JSON which rules of RO-Crate it breaks, which types and
// properties its context does not define, and which references lead to nothing.
const { ROCrate, Validator } = require('ro-crate');
const { existsSync, readFileSync } = require('node:fs');
const { join } = require('node:path');

async function main(folder) {
  const text = readFileSync(join(folder, 'ro-crate-metadata.json'), 'utf8');
  const validator = new Validator();
  validator.parseJSON(text);
  await validator.crate.resolveContext();
  validator.rootDataEntity();
  const crate = new ROCrate(JSON.parse(text), { array: true, link: true });
  await crate.resolveContext();
  const graph = JSON.parse(text)['@graph'];
  const ids = new Set(graph.map((e) => e['@id']));
  const terms = graph.flatMap((e) => [...Object.keys(e).filter((k) => !k.startsWith('@')), ...[e['@type']].flat()]);
  const links = graph.flatMap((e) => Object.values(e).flat()).map((v) => v?.['@id']).filter(Boolean);
  const outside = (id) => /^https?:/.test(id);
  console.log(JSON.stringify({
    broken: validator.results.filter((r) => r.status !== 'success').map((r) => r.message),
    checked: validator.results.length,
    unknown: [...new Set(terms)].filter((t) => !crate.resolveTerm(t)),
    loose: links.filter((id) => !ids.has(id) && !outside(id)),
    missing: [...ids].filter((id) => !/^(#|[a-z]+:)/.test(id) && !existsSync(join(folder, id))),
  }));
}

main(process.argv[2]);
