import type { FastifyInstance } from 'fastify'
import type { BrandReader } from '#brands/brand-source.ts'
import { pictureAnswer } from '#brands/picture-answer.ts'

/** `/brand/NAME.png`: logos and icons of brands, in pages of travellers. */
export function addBrandPictures(app: FastifyInstance, { db }: { db: BrandReader }): void {
  app.get<{ Params: { name: string } }>('/brand/:name', { config: { access: 'anybody' } }, async (request, reply) => {
    const answer = await pictureAnswer(db, request.params.name)
    if (answer === undefined)
      return reply
        .code(404)
        .header('cache-control', 'no-store')
        .type('text/plain; charset=utf-8')
        .send('There is no such picture.\n')
    return reply.headers(answer.headers).send(answer.content)
  })
}
