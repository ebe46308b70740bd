'use strict';
// Computes again, in the browser and without a network, what this file says of a row or a run, and names what is not so. docs/proof.md describes the proof.

class Refused extends Error {}
const refuse = (wrong, what) => { if (wrong) throw new Refused(what); };
const encoded = text => new TextEncoder().encode(text);
const joined = parts => new Uint8Array(parts.flatMap(part => Array.from(part)));
const hex = bytes => Array.from(bytes, byte => byte.toString(16).padStart(2, '0')).join('');
const same = (a, b) => hex(a) === hex(b);
const number = bytes => bytes.reduce((sum, byte) => 256 * sum + byte, 0);
const sha256 = async (...parts) => new Uint8Array(await crypto.subtle.digest('SHA-256', joined(parts)));

function unhex(text, what) {
  refuse(!/^([0-9a-f]{2})*$/.test(text), what + ': it is not of hex digits');
  return new Uint8Array((text.match(/../g) ?? []).map(digits => parseInt(digits, 16)));
}

function base64(text, what) {
  try {
    return Uint8Array.from(atob(text), sign => sign.charCodeAt(0));
  } catch {
    throw new Refused(what + ': it is not base64');
  }
}

/** The root to which a path leads (RFC 9162, 2.1.3.2); null if it is too short or too long. */
async function root(index, leaves, leaf, path) {
  let last = leaves - 1, at = 0;
  for (; last > 0; index = Math.floor(index / 2), last = Math.floor(last / 2)) {
    if (index % 2 === 0 && index >= last) continue;
    if (at + 32 > path.length) return null;
    const beside = path.subarray(at, at += 32);
    leaf = index % 2 ? await sha256([1], beside, leaf) : await sha256([1], leaf, beside);
  }
  return at === path.length ? leaf : null;
}

async function under(leaf, content, tree, what) {
  const found = await root(leaf.index, leaf.leaves, await sha256([0], unhex(leaf.salt, what), content), base64(leaf.path, what));
  refuse(found === null || !same(found, tree), what);
}

/** under for the body of a row. If the row has fields, its path begins with the root of the tree over them (docs/seal.md). */
async function rowUnder(leaf, body, tree, what) {
  const own = await sha256([0], unhex(leaf.salt, what), body), path = base64(leaf.path, what);
  const paired = await sha256([1], own, path.subarray(0, 32));
  const found = [await root(leaf.index, leaf.leaves, own, path), await root(leaf.index, leaf.leaves, paired, path.subarray(32))];
  refuse(!found.some(hash => hash !== null && same(hash, tree)), what);
}

/** What the body of a row has: its number, the digest of its record, and by lane and node the digests of its forms (docs/seal.md). */
function bodyOf(bytes) {
  const sizes = {1: [0, 44], 2: [2, 8], 3: [4, 32], 4: [2, 4], 5: [4, 8], 6: [4, 32], 7: [2, 8], 8: [0, 12]};
  refuse(hex(bytes.subarray(0, 3)) !== '776d01', 'the row: it is in no form that this file knows');
  const body = {row: number(bytes.subarray(3, 11)), record: '', ways: new Set(), forms: new Map()};
  for (let rest = bytes.subarray(11); rest.length > 0;) {
    const [name, size] = sizes[rest[0]] ?? [0, Infinity];
    refuse(rest.length < 1 + name + size, 'the row: a part of it is not whole');
    const id = hex(rest.subarray(1, 1 + name)), value = rest.subarray(1 + name, 1 + name + size);
    if (rest[0] === 1) body.record = hex(value.subarray(0, 32));
    if (rest[0] === 2) body.ways.add(hex(value));
    if (rest[0] === 3) body.forms.set(id, hex(value));
    rest = rest.subarray(1 + name + size);
  }
  return body;
}

/** A public key, as name+hash+base64. */
async function keyOf(text) {
  const [name, id, ...rest] = text.split('+'), key = base64(rest.join('+'), 'a key'), digest = await sha256(encoded(name + '\n'), key);
  refuse(key.length !== 33 || key[0] !== 1 || hex(digest.subarray(0, 4)) !== id, 'a key of the log is not one');
  return {text, name, id, verifier: await crypto.subtle.importKey('raw', key.subarray(1), 'Ed25519', false, ['verify'])};
}

/** Requires that one of the keys signed a note. Of a head, the first signature is that of the log. */
async function signed(note, keys, what) {
  const cut = note.lastIndexOf('\n\n'), line = note.slice(cut + 2).split('\n')[0], [, name, text] = /^\u2014 (\S+) (\S+)$/.exec(line) ?? [];
  refuse(cut < 0 || !name, what + ': it is not signed');
  const signature = base64(text, what), id = hex(signature.subarray(0, 4)), key = keys.find(k => k.name === name && k.id === id);
  refuse(!key, what + ': it is signed by a key that does not count there');
  refuse(!await crypto.subtle.verify('Ed25519', key.verifier, signature.subarray(4), encoded(note.slice(0, cut + 1))), what + ': the signature does not fit');
}

/** Verifies who signed the entries and the head, and that the head has the entries; returns the entry about the seal. */
async function logOf(proof) {
  const keys = [], sealers = [], [origin, size, tree] = proof.head.split('\n');
  let sealed = {};
  for (const entry of proof.entries) {
    const what = `entry ${entry.index} of the log`, said = JSON.parse(entry.text.split('\n')[0]);
    if (entry.index === 0) keys.push({since: 0, ...await keyOf(said.key)});
    refuse(keys.length === 0, 'the log does not begin at its beginning');
    const logs = keys.filter(key => key.since <= entry.index).slice(-1);
    await signed(entry.text, said.type === 'sealed' ? sealers : logs, what);
    if (said.type === 'key') sealers.push(await keyOf(said.key));
    if (said.type === 'revoked') sealers.splice(0, Infinity, ...sealers.filter(key => key.text !== said.key));
    if (said.type === 'rotated') keys.push({since: entry.index + 1, ...await keyOf(said.key)});
    if (said.type === 'sealed') sealed = said;
    const found = await root(entry.index, Number(size), await sha256([0], encoded(entry.text)), base64(entry.path, what));
    refuse(found === null || !same(found, base64(tree, 'the head')), what + ': it is not in the log');
  }
  refuse(sealed.type !== 'sealed' || origin !== keys[0].name, 'the log: it has no entry about the seal of the run');
  await signed(proof.head, keys.filter(key => key.since <= Number(size)).slice(-1), 'the head of the log');
  return sealed;
}

const list = document.getElementById('checks'), verdict = document.getElementById('verdict');

function tell(sign, text) {
  const item = document.createElement('li');
  item.className = sign === '✓' ? 'true' : sign === '✗' ? 'refused' : '';
  item.textContent = `${sign} ${text}`;
  list.append(item);
}

let holds = true, whole = true;

/** Does one check, and tells what came of it. */
async function check(what, does) {
  try {
    const known = await does();
    tell(known === false ? '◌' : '✓', what + (known === false ? ': not in this file' : ''));
    return true;
  } catch (error) {
    const cannot = error.name === 'NotSupportedError';
    whole = whole && !cannot;
    holds = holds && cannot;
    tell(cannot ? '◌' : '✗', what + (cannot ? ': this browser does not know Ed25519 signatures' : `: ${error instanceof Refused ? error.message : 'it cannot be read'}`));
    return false;
  }
}

/** Refuses an element that has other children, text between them, or attributes with which something could be said or hidden. */
function only(element, children, attributes = []) {
  const found = [...element.childNodes].filter(node => node.nodeType !== Node.TEXT_NODE || node.data.trim() !== '').map(node => node.nodeName.toLowerCase());
  refuse(found.join() !== children.join(), `something was added to <${element.localName}>, or is missing there`);
  refuse(element.getAttributeNames().some(name => !attributes.includes(name)), `<${element.localName}> has an attribute that it did not have`);
}

/** Refuses a page that has anything beside what the other checks compute. It must be asked before the page is changed. */
function onlyThese(sections) {
  const one = name => document.querySelector(name), data = document.getElementById('data');
  only(document.documentElement, ['head', 'body'], ['lang']);
  only(document.head, ['meta', 'meta', 'meta', 'title', 'style']);
  only(document.body, ['main', 'script', 'script']);
  only(one('main'), ['h1', 'p', 'details', ...sections.map(() => 'section')]);
  only(one('h1'), ['#text']);
  only(verdict, ['#text'], ['id', 'role']);
  refuse(!verdict.textContent.startsWith('▲ Nothing is checked.'), 'the verdict was written before anything was checked');
  only(one('details'), ['summary', 'ul'], ['open']);
  only(one('summary'), ['#text']);
  only(list, [], ['id']);
  only(data, ['#text'], ['type', 'id', 'data-sha256']);
  for (const section of sections) {
    only(section, ['h2', 'pre']);
    for (const text of section.children) only(text, text.textContent.trim() ? ['#text'] : []);
  }
}

async function run() {
  const parts = [...document.querySelectorAll('section')];
  let added;
  try {
    onlyThese(parts);
  } catch (error) {
    added = error;
  }
  document.querySelector('summary').textContent = 'What was computed again, in this browser, from this file alone';
  const block = document.getElementById('data'), sections = parts;
  let data, proof, ofRow, body, sealed, lines;
  await check('Nothing was added to this page, and nothing is hidden', async () => {
    if (added) throw added;
  });
  await check('The data of this file are as they were written', async () => {
    refuse(hex(await sha256(encoded(block.textContent))) !== block.dataset.sha256, 'they were changed');
  });
  if (!await check('The data can be read', async () => {
    data = JSON.parse(block.textContent);
    proof = JSON.parse(data.proof);
    ofRow = data.row !== undefined;
    body = ofRow && bodyOf(base64(proof.body, 'the row'));
    lines = proof.records.map(record => JSON.parse(record.line));
    refuse(sections.length !== data.sections.length, 'a part of this page is missing, or was added');
  })) return;
  await check('The title is shown as it was written', async () => {
    refuse(document.title !== data.title || document.querySelector('h1').textContent !== data.title, 'it was changed');
  });
  for (const [i, section] of sections.entries()) {
    const title = section.querySelector('h2').textContent;
    await check(`“${title}” is shown as it was written`, async () => {
      refuse(hex(await sha256(encoded(section.textContent))) !== data.sections[i], 'it was changed');
    });
  }
  if (ofRow) await check('The record has the SHA-256 that was sealed', async () => {
    if (data.record === null) return false;
    refuse(hex(await sha256(base64(data.record, 'the record'))) !== body.record, 'it is another one');
  });
  for (const form of data.forms) {
    await check(`The row ${form.of} has the SHA-256 that was sealed`, async () => {
      refuse(hex(await sha256(base64(form.form, 'the row'))) !== body.forms.get(form.id), 'it is another one');
    });
  }
  if (ofRow) await check('The row is in its chunk, under the seal of that', async () => {
    refuse(body.row !== data.row || lines[0].table !== 'chunk_seals' || lines[0].source !== data.source, 'the row is another one');
    await rowUnder(proof.row, base64(proof.body, 'the row'), unhex(lines[0].root, 'the seal of the chunk'), 'it is not');
  });
  await check('The log has the seal of the run, and was signed by its key', async () => { sealed = await logOf(proof); });
  if (sealed) {
    await check((ofRow ? 'The seal of the chunk and the ways of the row are' : 'Each record of the last part is') + ' under the seal of the run', async () => {
      refuse(sealed.run !== data.run, 'the log is about another run');
      for (const [i, record] of proof.records.entries()) {
        refuse(lines[i].run_id !== sealed.run || ofRow && i > 0 && (lines[i].table !== 'ways' || !body.ways.has(lines[i].way)), 'a record is of something else');
        await under(record, encoded(record.line), unhex(sealed.root, 'the seal of the run'), 'one is not');
      }
      const shown = ofRow ? [] : parts.at(-1).querySelector('pre').textContent.split('\n');
      refuse(!ofRow && JSON.stringify(shown.map(line => JSON.parse(line))) !== JSON.stringify(lines), 'other records are shown');
    });
  }
  const late = sealed?.late ? ', late: nothing is proved about the time before' : '';
  const by = sealed ? `, by the log ${proof.head.split('\n')[0]}, on its own word` : '';
  verdict.className = holds ? 'true' : 'refused';
  verdict.textContent = !holds ? '✗ Not true: something in this file was changed, see below' :
    whole ? `✓ True: recorded so when the run was sealed, ${sealed.at}${late}${by}` : '◌ What this browser can compute is true; it cannot verify signatures';
}

// The whole file must have been read: something may stand behind the script.
document.addEventListener('DOMContentLoaded', () => run().finally(() => {
  if (verdict.className === '') {
    verdict.className = 'refused';
    verdict.textContent = '✗ Not true: this file cannot be read';
  }
}));
