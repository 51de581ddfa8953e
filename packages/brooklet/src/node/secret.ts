/** Secrets, by the names that services.xml has for them. They are in the environment, and go into no log and no answer. */

/** A secret of the environment, by Vespa's rule: `myApiKey` is `VESPA_SECRET_MY_API_KEY`. */
export function secret(name: string): string | undefined {
  const upper = name.replace(/([a-z0-9])([A-Z])/g, "$1_$2").toUpperCase();
  return process.env[`VESPA_SECRET_${upper}`];
}
