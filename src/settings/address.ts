// Addresses among the settings: what an endpoint's may be, and the credentials in them that nobody is shown.

/** A check for options that take the address of an endpoint. */
export function httpUrl(text: string): string | undefined {
  if (!/^https?:\/\/[^\s/]+/i.test(text) || !URL.canParse(text)) return 'an http:// or https:// address';
  const { username, password } = new URL(text);
  return decoded(username + password) === undefined ? 'a user name and password that write % as %25' : undefined;
}

/** The password in an address, as it is written and as it is meant. The address of a proxy may have no scheme. */
export function passwordsIn(text: string): readonly string[] {
  const written = /^(?:[a-z][a-z0-9+.-]*:\/\/)?[^\s/:@]*:([^\s@]+)@/i.exec(text)?.[1];
  return written === undefined ? [] : [written, decoded(written) ?? written];
}

/** Percent-encoded text as it is meant; undefined for text that is not percent-encoded. */
function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** The text without user names and passwords in its addresses, and without query parameters that have the name of a credential. */
export function cutPasswords(text: string): string {
  return text
    .replace(/\b([a-z]+:\/\/)[^/\s]*@/gi, '$1')
    .replace(/([?&][^=&#\s]*(?:key|token|secret|sig|auth|pass|code)[^=&#\s]*=)[^&#\s"]+/gi, '$1[secret]');
}
