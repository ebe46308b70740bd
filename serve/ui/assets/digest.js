// Looks for who made a file. Its SHA-256 is computed here: the file goes nowhere.
const most = 2 ** 30; // bytes: more than that a browser may not hold
const form = document.getElementById('digest'), field = form.querySelector('input'), notice = form.querySelector('[role="status"]');

async function look(file) {
  if (!file) return;
  if (file.size > most) {
    notice.textContent = '▲ It has more than 1 GiB. Compute its digest with sha256sum, and look for that.';
    return;
  }
  notice.textContent = 'Computing its SHA-256 …';
  try {
    const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', await file.arrayBuffer()));
    location.assign('/find?q=' + Array.from(digest, byte => byte.toString(16).padStart(2, '0')).join(''));
  } catch {
    notice.textContent = '▲ It cannot be read.';
  }
}

if (globalThis.crypto?.subtle) {
  form.hidden = false;
  field.addEventListener('change', () => look(field.files[0]));
  addEventListener('dragover', event => event.preventDefault());
  addEventListener('drop', event => {
    event.preventDefault();
    look(event.dataTransfer.files[0]);
  });
}
