// Marks what belongs together in a record while somebody points at it: a field, its text and its bytes.
const signals = {pointerover: true, focusin: true, pointerout: false, focusout: false};

for (const record of document.querySelectorAll('.record')) {
  for (const [signal, on] of Object.entries(signals)) {
    record.addEventListener(signal, event => {
      const field = event.target.closest('[data-field]')?.dataset.field;
      if (field === undefined) return;
      for (const part of record.querySelectorAll(`[data-field="${field}"]`)) part.classList.toggle('marked', on);
    });
  }
}
