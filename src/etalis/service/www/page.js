// What the parts of the page share: the parts themselves, put here by `app`, and the state of the session.
export const page = {
  state: {
    language: "rules", name: null, // of the session
    kinds: [], rules: [], checked: 0, // of the program as it was last checked, and how often it was
    ran: 0, run: null, stale: false, watching: null, // what was run, whether it has changed since, which engine is followed
    back: [], wanted: null, // chosen before; what a shared session wants to be seen
  },
};

/** What is run: a run and what is written later are compared by it. */
export const written = () => JSON.stringify([page.state.language, page.editor.value, page.background.value]);
