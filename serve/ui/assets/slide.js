// Shows a run as it stood while somebody moves the slider. The page of each moment is asked for, and what it says is put in the place of what was said: one at a time, the last one
// that was wanted.
const parser = new DOMParser();
const policy = globalThis.trustedTypes?.createPolicy('waymark', {createHTML: text => text}); // of our own pages only: nothing else is fetched
const slider = document.querySelector('#moment input');
let asking = false;

async function show() {
  if (asking) return;
  asking = true;
  try {
    for (let shown; shown !== slider.value;) {
      shown = slider.value;
      const path = `${location.pathname}?at=${shown}`;
      const answer = await fetch(path, {cache: 'no-store', credentials: 'same-origin'});
      if (!answer.ok) break;
      const text = await answer.text();
      const now = parser.parseFromString(policy ? policy.createHTML(text) : text, 'text/html');
      document.getElementById('then').replaceWith(now.getElementById('then'));
      slider.setAttribute('aria-valuetext', now.querySelector('#moment input').getAttribute('aria-valuetext'));
      history.replaceState(null, '', path);
    }
  } finally {
    asking = false;
  }
}

slider.addEventListener('input', show);
