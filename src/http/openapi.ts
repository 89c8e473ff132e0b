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
  return cleanupOpenApiDoc(SwaggerModule.createDocument(app, frame));
}
