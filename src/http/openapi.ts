import { NestExpressApplication } from '@nestjs/platform-express';
import { DocumentBuilder, OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { cleanupOpenApiDoc } from 'nestjs-zod';

/** Where the description of the API is shown to people; programs read `/openapi.json`. */
export const DOCS_PATH = '/docs';

const PROBLEM = {
  type: 'object',
  required: ['type', 'title', 'status', 'code', 'detail', 'instance', 'requestId'],
  properties: {
    type: { type: 'string' },
    title: { type: 'string' },
    status: { type: 'integer' },
    code: { type: 'string', description: 'Stable; for programs.' },
    detail: { type: 'string', description: 'One sentence; for people.' },
    instance: { type: 'string' },
    requestId: { type: 'string' },
    errors: {
      type: 'array',
      items: { type: 'object' },
      description: 'The faulty fields, each with a pointer.',
    },
    attentionIds: {
      type: 'array',
      items: { type: 'string' },
      description:
        'Of ATTENTION_DECIDES: what is open and decides it; none where only a stop of the service stands.',
    },
  },
};

type Schema = NonNullable<NonNullable<OpenAPIObject['components']>['schemas']>[string];

/** What `nestjs-zod` marks a field of a body with that has more than one type. */
const MANY_TYPES = 'x-nestjs_zod-empty-type';

/** Serves the description at `/openapi.json` and a page of it at `/docs`, out of this process alone. */
export function describeApi(app: NestExpressApplication): void {
  SwaggerModule.setup(DOCS_PATH.slice(1), app, () => apiDocument(app), {
    jsonDocumentUrl: '/openapi.json',
    raw: ['json'],
    customSiteTitle: 'Payrun API',
    // The page would ask a public service to validate the document otherwise.
    swaggerOptions: { validatorUrl: null },
  });
}

/** The OpenAPI document of every route. */
export function apiDocument(app: NestExpressApplication): OpenAPIObject {
  const frame = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle('Payrun')
    .setDescription('Payroll batch payments. `x-roles` names who may call an operation.')
    .setVersion('1')
    .addBearerAuth({ type: 'http', scheme: 'bearer', description: 'An API key: pk_…' })
    .addGlobalResponse({
      status: 'default',
      description: 'Anything else is a problem (RFC 9457).',
      content: { 'application/problem+json': { schema: PROBLEM } },
    })
    .build();
  const document = SwaggerModule.createDocument(app, frame);
  Object.values(document.components?.schemas ?? {}).forEach(allowNull);
  return cleanupOpenApiDoc(document);
}

/** A text that may be null has the types `['string', 'null']`, which `@nestjs/swagger` takes for a list of the first. */
function allowNull(schema: Schema): void {
  const fields = ('properties' in schema && schema.properties) || {};
  for (const field of Object.values(fields)) {
    if (!(MANY_TYPES in field && 'type' in field && field.type === 'array' && field.items)) continue;
    const { items } = field;
    delete field.items;
    Object.assign(field, items, { type: ['type' in items && items.type, 'null'] });
  }
}
