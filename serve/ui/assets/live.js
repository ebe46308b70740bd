// Shows a page that changes by itself again and again, in place of what it said before. What somebody is using is left alone: a field that has the focus,
// a form that is open, a text that is selected. Without scripts the browser loads the whole page every other second instead.
const pace = 1000; // milliseconds
const parser = new DOMParser();
const policy = globalThis.trustedTypes?.createPolicy('waymark', {createHTML: text => text}); // of our own pages only: nothing else is fetched
const notice = document.querySelector('footer [role="status"]');

/** Reports whether somebody is using something in an element. */
const inUse = element => element.contains(document.activeElement) || element.querySelector('.orders details[open]') !== null;

/** Reports whether somebody has selected text. */
const selecting = () => !getSelection().isCollapsed;

/** Puts what the page says now in the place of what it said, except for what is in use. */
function show(now) {
  const main = document.querySelector('main'), next = now.querySelector('main');
  document.title = now.title;
  document.querySelector('footer time').replaceWith(now.querySelector('footer time'));
  if (!inUse(main)) {
    main.replaceWith(next);
    return;
  }
  for (const part of next.querySelectorAll('[id][data-part]')) {
    const old = document.getElementById(part.id);
    if (old && !inUse(old)) old.replaceWith(part);
  }
}

async function look() {
  if (document.hidden || selecting()) return true;
  const answer = await fetch(location.href, {cache: 'no-store', credentials: 'same-origin'});
  if (answer.status === 401) {
    notice.textContent = '▲ Your session is over. Load the page again to sign in.';
    const waits = inUse(document.querySelector('main'));
    if (!waits) location.reload(); // it asks to sign in
    return !waits;
  }
  const text = await answer.text();
  const now = parser.parseFromString(policy ? policy.createHTML(text) : text, 'text/html');
  if (!now.querySelector('main')) return true;
  show(now);
  notice.textContent = '';
  return now.body.hasAttribute('data-live');
}

for (let live = true; live;) {
  await new Promise(done => setTimeout(done, pace));
  try {
    live = await look();
  } catch {
    notice.textContent = '▲ The server does not answer. What you see is as of the time above; this page continues when it answers again.';
  }
}
